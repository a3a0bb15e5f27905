"""The account of a preparation: every record found is kept, or quarantined with its reason."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Account:
    """How many records were found, kept, and quarantined under each reason."""

    found: int
    kept: int
    quarantined: dict[str, int]

    @classmethod
    def of(cls, kept: int, reasons: Iterable[str]) -> "Account":
        """Count; reasons are ordered by name."""
        quarantined = dict(sorted(Counter(reasons).items()))
        return cls(kept + sum(quarantined.values()), kept, quarantined)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"found": self.found, "kept": self.kept, "quarantined": self.quarantined}


def report(
    found: Iterable[str], kept: Iterable[str], quarantined: list[dict[str, str]], hashes: Mapping[str, str]
) -> dict[str, Any]:
    """Everything that became of the sources' records, as `report.json` holds it.

    Args:
        found: the source of every record found.
        kept: the source of every record kept.
        quarantined: one entry (source, root, path, reason, message) per quarantined record.
        hashes: name → signal hash of the kept records; names of bit-identical signals are listed together.
    """
    found, kept = Counter(found), Counter(kept)
    reasons = defaultdict(list)
    for entry in quarantined:
        reasons[entry["source"]].append(entry["reason"])
    sources = {name: Account.of(kept[name], reasons[name]) for name in sorted(found)}
    total = Account.of(kept.total(), (entry["reason"] for entry in quarantined))
    assert total.found == found.total(), "found = kept + quarantined"
    assert all(account.found == found[name] for name, account in sources.items())
    return total.as_dict() | {
        "sources": {name: account.as_dict() for name, account in sources.items()},
        "duplicates": duplicates(hashes),
        "records": quarantined,
    }


def duplicates(hashes: Mapping[str, str]) -> list[list[str]]:
    """Groups of names whose signals are the same bit for bit."""
    groups = defaultdict(list)
    for name, signal_hash in hashes.items():
        groups[signal_hash].append(name)
    return sorted(sorted(names) for names in groups.values() if len(names) > 1)
