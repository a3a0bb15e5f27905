"""What tests of preparing share: shards of two records, and the bytes of a folder."""

import hashlib
from pathlib import Path

from marecg.corpus.config import CorpusConfig

SMALL = CorpusConfig(shard=2)


def digest(folder: Path) -> dict[str, str]:
    """Every file of a folder, hidden ones too, with a hash of its bytes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
