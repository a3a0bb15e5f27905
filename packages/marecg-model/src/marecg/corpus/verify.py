"""`marecg stats --verify`: every window on disk is read and compared with what the index says of it."""

from pathlib import Path

from marecg.corpus import index
from marecg.corpus.prepare_record import signal_hash
from marecg.corpus.prepared import Corpus


def damaged_records(folder: str | Path) -> list[str]:
    """The records whose windows are no longer those that were prepared, by root and path.

    Raises:
        CorpusError: the folder isn't a finished corpus, or a whole file of it is damaged.
    """
    corpus = Corpus.open(folder)
    rows = index.read(Path(folder) / "index.parquet", ["root", "path", "signal_hash"])
    records = enumerate(zip(index.names(rows), rows["signal_hash"].to_pylist(), strict=True))
    return [name for row, (name, prepared) in records if signal_hash(corpus.stored([row])[0]) != prepared]
