"""What a release rests on: one version everywhere, and workflows that name what exists."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PACKAGES = sorted([*ROOT.glob("packages/*/pyproject.toml"), ROOT / "cli" / "pyproject.toml"])


def test_every_package_and_the_citation_have_one_version_and_need_each_other_at_it() -> None:
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


def test_the_workflows_are_sound_and_run_what_there_is() -> None:
    for path in (ROOT / ".github").rglob("*.yml"):
        assert yaml.safe_load(path.read_text(encoding="utf-8")), path
    workflows = {
        path.stem: path.read_text(encoding="utf-8") for path in (ROOT / ".github/workflows").iterdir()
    }
    assert all("- run: .ci/run" in text for text in workflows.values())
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100
    assert "id-token: write" in workflows["release"]
    assert "password" not in workflows["release"].partition("jobs:")[2]
    for action in re.findall(r"uses: (\S+)", "".join(workflows.values())):
        assert re.fullmatch(r"[\w-]+/[\w-]+@\S+", action), f"{action} is no pinned action"
