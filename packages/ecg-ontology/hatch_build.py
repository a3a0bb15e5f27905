"""The wheel carries the sources that a curator begins from, as does the archive that it is built from."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Sources(BuildHookInterface[Any]):
    """Takes the folder `ontology` of the checkout along; within an archive it lies in the package already."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Say where the folder goes."""
        sources = Path(self.root).parents[1] / "ontology"
        if sources.is_dir() and version != "editable":
            inside = "ecg_ontology/data/sources"
            build_data["force_include"][str(sources)] = (
                f"src/{inside}" if self.target_name == "sdist" else inside
            )
