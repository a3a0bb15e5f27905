"""Packages of other people, installed: folders on the path that say, as wheels do, what they offer."""

from pathlib import Path

import pytest


def install(place: Path, patch: pytest.MonkeyPatch, entry_points: str, *, module: str, text: str) -> None:
    """Install a distribution with one module into a folder, which comes first on the path."""
    about = place / f"outside_{module}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Name: outside-{module}\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(entry_points, encoding="utf-8")
    (place / f"{module}.py").write_text(text, encoding="utf-8")
    patch.syspath_prepend(place)
