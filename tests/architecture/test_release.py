"""A release has one version everywhere, valid workflows, and hashes for all that it needs."""

import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest
import yaml

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


def test_the_workflows_are_valid_yaml_and_name_a_version_of_each_action():
    hooks = ROOT / ".pre-commit-hooks.yaml"
    for path in (hooks, *(ROOT / ".github").rglob("*.yml")):
        assert yaml.safe_load(path.read_text(encoding="utf-8")), path
        for action in re.findall(r"^ +-? ?uses: (\S+)", path.read_text(encoding="utf-8"), re.MULTILINE):
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
