"""What a release rests on: one version everywhere, and workflows that name what exists."""

import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest
import yaml
from tests.docs import install_lines

ROOT = Path(__file__).parents[2]
PACKAGES = sorted([*ROOT.glob("packages/*/pyproject.toml"), ROOT / "cli" / "pyproject.toml"])


def test_every_package_and_the_citation_have_one_version_and_need_each_other_at_it():
    projects = [tomllib.loads(path.read_text(encoding="utf-8"))["project"] for path in PACKAGES]
    (version,) = {project["version"] for project in projects}
    names = {project["name"] for project in projects}
    for project in projects:
        extras = (each for extra in project.get("optional-dependencies", {}).values() for each in extra)
        for each in (*project.get("dependencies", ()), *extras):
            name = re.split(r"[\[=<>~]", each)[0]
            if name in names and name != project["name"]:
                assert each.endswith(f"=={version}"), f"{project['name']} needs {each}"
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(cited["version"]) == version
    names = [author["family-names"] for author in cited["preferred-citation"]["authors"]]
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    assert site["copyright"].startswith(f"MAR-ECG {version} ")
    archived = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    assert [creator["name"].partition(",")[0] for creator in archived["creators"]] == names


def test_the_workflows_are_sound_and_run_what_there_is():
    hooks = ROOT / ".pre-commit-hooks.yaml"
    for path in (hooks, *(ROOT / ".github").rglob("*.yml")):
        assert yaml.safe_load(path.read_text(encoding="utf-8")), path
    paths = (ROOT / ".github/workflows").iterdir()
    workflows = {path.stem: path.read_text(encoding="utf-8") for path in paths}
    assert all("- run: .ci/run" in workflows[name] for name in ("ci", "release"))
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100
    assert all("ecgonto validate" in text for text in (workflows["ontology"], hooks.read_text("utf-8")))
    assert "id-token: write" in workflows["release"]
    assert "password" not in workflows["release"].partition("jobs:")[2]
    for action in re.findall(r"^ +-? ?uses: (\S+)", "".join(workflows.values()), re.MULTILINE):
        assert re.fullmatch(r"[\w-]+/[\w-]+@\S+", action), f"{action} is no pinned action"


def test_the_lock_file_of_a_release_has_a_hash_for_every_package():
    locked = runpy.run_path(str(ROOT / ".ci" / "lock"))["locked"]
    machine = {"python_version": "3.11", "sys_platform": "linux", "platform_machine": "x86_64"}
    archive: dict[str, object] = {"hashes": {"sha256": "ab12"}}
    download = {"url": "https://x", "archive_info": archive}
    installed = {"metadata": {"name": "torch", "version": "2.13.0"}, "download_info": download}
    report = {"environment": machine, "install": [installed]}
    assert list(locked(report)) == ["# Python 3.11, linux, x86_64", "torch==2.13.0 --hash=sha256:ab12"]
    archive.clear()
    with pytest.raises(SystemExit, match=r"torch 2\.13\.0: pip tells no SHA-256"):
        list(locked(report))
    release = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert ".ci/lock report.json" in release
    assert "cyclonedx-py environment" in release


def test_the_walk_finds_the_commands_of_the_pages_and_no_others():
    walk = runpy.run_path(str(ROOT / ".ci" / "walk"))
    assert walk["command"]("$ marecg stats corpus    # what is in it") == "marecg stats corpus"
    assert walk["command"]("import marecg") == ""
    lines = [
        walk["command"](line)
        for page in walk["PAGES"]
        for language, text in walk["BLOCK"].findall((ROOT / page).read_text(encoding="utf-8"))
        if language in ("", "console")
        for line in text.splitlines()
    ]
    assert all(any(line.startswith(start) for line in lines) for start in walk["COMMANDS"])
    assert {"make demo", "make test", "pip install ./cli ./packages/*", "pip install marecg"} <= set(lines)
    assert "marecg predict /data/georgia/g1/E00001" in lines


def test_the_walk_installs_the_wheels_at_hand_and_the_torch_that_is_pinned():
    install = runpy.run_path(str(ROOT / ".ci" / "walk"))["install"]
    ((torch,),) = install(["install", "torch", "--index-url", "https://x"], Path("wheels"))
    assert torch.startswith("torch==")
    ((_, constraints, *folders),) = install(["install", "./cli", "./packages/*"], Path("wheels"))
    assert Path(constraints).name == "constraints.txt"
    assert sorted(folders) == sorted(f"./{path.parent.relative_to(ROOT)}" for path in PACKAGES)
    _, (package, *_, place, wheels) = install(["install", "marecg"], Path("wheels"))
    assert (package, place, wheels) == ("marecg", "--find-links", "wheels")


def test_the_walk_stops_where_the_pages_say_released_and_no_index_has_the_version(tmp_path):
    pip = tmp_path / "pip"
    pip.write_text("#!/bin/sh\nexit 1\n")
    pip.chmod(0o755)
    check_index = runpy.run_path(str(ROOT / ".ci" / "walk"))["check_index"]
    with pytest.raises(SystemExit, match=r"released = true`, but no index has marecg==\d"):
        check_index(tmp_path)
    pip.write_text("#!/bin/sh\nexit 0\n")
    check_index(tmp_path)


def test_the_pages_name_an_index_only_where_pyproject_says_that_it_has_the_packages():
    for name in install_lines.PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert text == install_lines.page(text), "run: python -m tests.docs.install_lines"
    places = ("docs/**/*.md", "*.md", "packages/*/README.md", "cli/README.md")
    pages = "".join(path.read_text(encoding="utf-8") for place in places for path in ROOT.glob(place))
    ours = "|".join(tomllib.loads(path.read_text(encoding="utf-8"))["project"]["name"] for path in PACKAGES)
    named = re.findall(rf"^.*pip install ['\"]?(?:{ours})(?![\w\[-]).*$", pages, re.MULTILINE)
    assert all(install_lines.LINE.fullmatch(line) for line in named), named


def test_the_one_package_brings_the_commands_the_model_the_weights_and_synthetic_ecgs():
    project = tomllib.loads((ROOT / "packages/marecg/pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[\[=]", each)[0] for each in project["dependencies"]}
    brought = {f"marecg-{each}" for each in ("cli", "corpora", "model", "report", "small")}
    assert names == brought | {"ecg-synth"}
