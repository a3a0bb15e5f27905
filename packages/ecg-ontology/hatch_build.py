"""Build hook that adds the sources of the ontology to the wheel and to the source distribution."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Sources(BuildHookInterface[Any]):
    """Hook that copies the folder `ontology` of a checkout to `ecg_ontology/data/sources`.

    In a source distribution, the folder is already there.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the folder to the files of the build."""
        sources = Path(self.root).parents[1] / "ontology"
        if sources.is_dir() and version != "editable":
            inside = "ecg_ontology/data/sources"
            build_data["force_include"][str(sources)] = (
                f"src/{inside}" if self.target_name == "sdist" else inside
            )
