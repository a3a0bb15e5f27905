"""A hub that keeps what is uploaded, in place of the one on the network."""

from pathlib import Path
from typing import Any


def fake_hub(uploaded: dict[str, Any]) -> type:
    """What stands in for `HfApi`: `uploaded` gets the words of an upload and the names of its files."""

    class Repository:
        repo_id = "someone/mar-ecg"

    class Hub:
        def __init__(self, **_: Any) -> None: ...

        def create_repo(self, **_: Any) -> Repository:
            return Repository()

        def upload_folder(self, folder_path: Path, **how: Any) -> str:
            uploaded.update(how, files={path.name for path in folder_path.iterdir()})
            return "https://example.org/commit"

    return Hub
