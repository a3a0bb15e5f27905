"""Files appear whole or not at all."""

import os
from pathlib import Path

import pytest

from ecg_ontology import replacing


def test_what_is_written_is_on_the_disk_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut cannot be made; the order in which the system is asked can be seen."""
    asked: list[str] = []

    def fsync(handle: int) -> None:
        asked.append(Path(f"/proc/self/fd/{handle}").readlink().name)

    rename = Path.replace

    def replace(self: Path, target: Path) -> Path:
        asked.append("rename")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    with replacing(tmp_path / "a.txt") as temporary:
        temporary.write_text("hello")
    assert asked == [temporary.name, "rename", tmp_path.name]
    asked.clear()
    with replacing(tmp_path / "folder") as temporary:
        temporary.mkdir()
        (temporary / "inner.txt").write_text("hello")
    assert asked == ["inner.txt", temporary.name, "rename", tmp_path.name]
