"""Count the outcomes of a preparation: records found, records kept, and records quarantined by reason.

A quarantined record is left out of the corpus, for example because it is damaged. The fields of the classes
are the keys of `report.json`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ecg_records.notes import MENDED, NoteKind, reported
from ecg_records.storage.documents import read_model
from marecg.corpus.index import AGAIN, MOST_JSON_BYTES
from marecg.errors import CorpusError
from marecg.settings import Count, Frozen


class Account(Frozen):
    """Numbers of records found, kept, and quarantined by reason."""

    found: Count
    kept: Count
    quarantined: dict[str, Count]

    @classmethod
    def of(cls, kept: int, reasons: Iterable[str]) -> "Account":
        """Build an account from the number of kept records and the reasons of quarantined records."""
        quarantined = dict(sorted(Counter(reasons).items()))
        return cls(found=kept + sum(quarantined.values()), kept=kept, quarantined=quarantined)


class Quarantined(Frozen):
    """Record that was left out of the corpus, with the reason.

    Attributes:
        source: Collection of the record.
        root: Name of the source folder.
        path: Path of the record in the source folder.
        reason: Reason as a keyword, by which records are counted.
        message: Description of the problem.
    """

    source: str
    root: str
    path: str
    reason: str
    message: str


class Unreached(Frozen):
    """Code or statement that leads to no concept, with the reason and its number of records.

    Attributes:
        code: Code of a table, or statement of an electrocardiograph.
        status: Routing status of the code, or of the statement's first code. `unmapped` for a statement
            without codes.
        records: Number of records.
    """

    code: str
    status: str
    records: Count


class CodeAccount(Frozen):
    """Result of using a table of codes (`codes.with_codes`), or a mapping from statements to codes.

    Attributes:
        records_with_codes: Number of records that get a code from the table. With a mapping
            (`codes.of_statements`), number of kept records that have a code from any origin.
        records_without_row: Records that have no row in the table, or no statement in the mapping.
        ids_without_record: Record ids in the table that match no record. Empty with a mapping.
        reaching_nothing: Codes of matched records, or statements, that lead to no concept.
    """

    records_with_codes: Count
    records_without_row: tuple[str, ...]
    ids_without_record: tuple[str, ...]
    reaching_nothing: tuple[Unreached, ...]


class PreparationReport(Account):
    """Outcome of a preparation, in total and by collection.

    Attributes:
        sources: Account of each collection.
        duplicates: Groups of record names with bit-identical signals.
        records: Quarantined records.
        codes: Result of using a code table or a mapping. None without both.
        mended: Numbers of kept records with repaired leads, by repair: short gaps were bridged, leads were
            computed from other leads, or leads were hidden. None if no lead was repaired.
        noted: Numbers of kept records with other notes, by kind of note. None without such notes.
    """

    sources: dict[str, Account]
    duplicates: tuple[tuple[str, ...], ...]
    records: tuple[Quarantined, ...]
    codes: CodeAccount | None = None
    mended: dict[str, Count] | None = None
    noted: dict[str, Count] | None = None

    def mended_lines(self) -> list[str]:
        """Return a line of text for each repair or note, with its number of records."""
        counts = (self.mended or {}) | (self.noted or {})
        return [f"{what}: {count:,} records" for what, count in counts.items()]

    def as_json(self) -> dict[str, Any]:
        """Return the content of `report.json`, without the keys that are None."""
        return self.model_dump(mode="json", exclude_none=True)


def report(
    found: Iterable[str],
    kept: Iterable[str],
    quarantined: Sequence[Quarantined],
    hashes: Mapping[str, str],
    codes: CodeAccount | None = None,
    notes: Iterable[Sequence[str]] = (),
) -> PreparationReport:
    """Count the outcomes of a preparation.

    Args:
        found: Collection of each record that was found.
        kept: Collection of each kept record.
        quarantined: Quarantined records.
        hashes: Signal hash of each kept record, by the name of the record.
        codes: Result of using a code table or a mapping.
        notes: Notes of each kept record.
    """
    noted = Counter(kind for lines in notes for kind in {note.kind for note in reported(lines)})
    found, kept = Counter(found), Counter(kept)
    reasons = defaultdict(list)
    for entry in quarantined:
        reasons[entry.source].append(entry.reason)
    sources = {name: Account.of(kept[name], reasons[name]) for name in sorted(found)}
    total = Account.of(kept.total(), (entry.reason for entry in quarantined))
    assert total.found == found.total(), "found = kept + quarantined"
    assert all(account.found == found[name] for name, account in sources.items())
    names_of = defaultdict(list)
    for name, signal_hash in hashes.items():
        names_of[signal_hash].append(name)
    return PreparationReport(
        **total.model_dump(),
        sources=sources,
        duplicates=tuple(sorted(tuple(sorted(names)) for names in names_of.values() if len(names) > 1)),
        records=tuple(quarantined),
        codes=codes,
        mended={str(kind): noted[kind] for kind in MENDED if noted[kind]} or None,
        noted={str(kind): noted[kind] for kind in NoteKind if noted[kind] and kind not in MENDED} or None,
    )


def read_report(folder: Path) -> PreparationReport:
    """Read `report.json` of a corpus. Raises `CorpusError` if it is damaged."""
    path, most = folder / "report.json", MOST_JSON_BYTES
    return read_model(PreparationReport, path, "is damaged", AGAIN, CorpusError, most)
