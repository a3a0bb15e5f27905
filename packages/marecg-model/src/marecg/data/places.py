"""Where files lie; a name that no file can have is nowhere, and no exception."""

from pathlib import Path


def on_disk(file: Path) -> bool:
    """Whether there is such a file."""
    try:
        return file.is_file()
    except (OSError, ValueError):
        return False


def inside(file: Path, root: Path) -> bool:
    """Whether a file lies below a folder, wherever links lead."""
    try:
        return file.resolve().is_relative_to(root.resolve())
    except (OSError, ValueError):
        return False
