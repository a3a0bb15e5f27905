"""Map the codes of a hospital, or the statements of electrocardiographs, to SNOMED CT."""

import hashlib
import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecg_base import InputError, file_sha256
from ecg_ontology.base.tables import column_names, rows
from ecg_ontology.formats.sssom import code_pairs
from ecg_ontology.graph.routing import malformation
from ecg_ontology.statements.lexicon import TABLES

if TYPE_CHECKING:
    from ecg_ontology.ontology import Ontology

VOCABULARIES = ("snomed", "icd10", "omop", "scp")
MAPPING_COLUMNS = ("code", "snomed")
_ICD10 = re.compile(r"[A-Z][0-9][0-9A-Z]\.?[0-9A-Z]{0,4}")
_SHORT_NAMES = {"icd10cm": "icd10", "icd10gm": "icd10", "icd-10": "icd10"}
"""Other names of ICD-10 in tables."""
MACHINE = "machine"
"""Name of the packaged mapping for the statements of electrocardiographs."""
_NORMAL_ECG = "164854000"
_NEAREST = ("skos:exactMatch", "skos:closeMatch", "skos:broadMatch", "skos:relatedMatch")
"""Allowed relations from a code to its concept, closest first."""


@dataclass(frozen=True)
class CodeMapping:
    """Mapping from codes or texts to SNOMED CT.

    Attributes:
        path: file of the mapping.
        targets: SNOMED CT identifiers by code or text, in the spelling of the file.

    Example:
        >>> CodeMapping(Path("m.csv"), {"I480": ("164889003",)}).of("icd10:I48.0")
        ('164889003',)
    """

    path: Path
    targets: dict[str, tuple[str, ...]]

    @classmethod
    def read(cls, path: str | Path) -> "CodeMapping":
        """Read a mapping from a file, or return the packaged mapping.

        Args:
            path: a `.csv` or `.xlsx` with the columns `code` and `snomed`, a `.sssom.tsv`, or ``machine`` for
                the packaged mapping of electrocardiographs' statements.

        Raises:
            InputError: the file can't be read.
        """
        if str(path) == MACHINE:
            return MachineStatements()
        targets: dict[str, tuple[str, ...]] = {}
        for subject, target in _pairs(Path(path)):
            targets[subject] = (*targets.get(subject, ()), target)
        return cls(Path(path), targets)

    def of(self, code: str) -> tuple[str, ...]:
        """Return the SNOMED CT identifiers of a code or text, or () if it isn't in the mapping.

        The code may differ from the mapping in case, in the prefix of the vocabulary, and in the point of
        ICD-10 codes. If it then matches several codes with different targets, the result is ().

        Args:
            code: code or text in the hospital's spelling.
        """
        if code in self.targets:
            return self.targets[code]
        vocabulary, bare = _parted(code)
        matching = {
            targets
            for other, targets in self._by_bare.get(bare, ())
            if not vocabulary or other == vocabulary or (not other and vocabulary in VOCABULARIES)
        }
        return matching.pop() if len(matching) == 1 else ()

    @cached_property
    def _by_bare(self) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
        """Vocabulary and targets of each code in the mapping, by the code without the vocabulary's prefix."""
        subjects: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for subject, targets in self.targets.items():
            vocabulary, bare = _parted(subject)
            subjects.setdefault(bare, []).append((vocabulary, targets))
        return subjects

    @property
    def about(self) -> dict[str, Any]:
        """Origin of the mapped codes: the SHA-256 of the mapping's file under ``["sha256"]["mapping"]``."""
        return {"sha256": {"mapping": file_sha256(self.path)}}


class MachineStatements(CodeMapping):
    """Packaged mapping from statements of electrocardiographs to SNOMED CT codes.

    A few findings have no SNOMED CT code and get a code of PTB-XL, such as ``scp:LMI``. Possible findings are
    not mapped, only certain and probable findings.
    """

    def __init__(self) -> None:
        super().__init__(TABLES / "statements.tsv", {})

    @cached_property
    def _graph(self) -> "Ontology":
        from ecg_ontology.formats.bundle import read_bundle
        from ecg_ontology.ontology import Ontology

        return Ontology(read_bundle(TABLES.parent / "ccg-extended.json"), "curated", checked=True)

    @cached_property
    def _codes(self) -> dict[int, str]:
        """A code for each leaf (concept of a finding), by the leaf's index.

        The code reaches only this leaf. If possible, it is a SNOMED CT identifier.
        """
        ranked: dict[int, tuple[int, bool, str]] = {}
        for row in self._graph.rows:
            leaves = self._graph.route(row.code).leaves
            node = self._graph.draft.by_iri.get(row.node or "")
            if node is None or leaves != (node.index,) or row.predicate not in _NEAREST:
                continue
            rank = (_NEAREST.index(row.predicate), not row.code.isdecimal())
            if leaves[0] not in ranked or rank < ranked[leaves[0]][:2]:
                ranked[leaves[0]] = (*rank, row.code)
        codes = {leaf: code for leaf, (*_, code) in ranked.items()}
        codes[self._graph.node("Normal").index] = _NORMAL_ECG
        return codes

    def of(self, code: str) -> tuple[str, ...]:
        """Return the codes of the certain and probable findings in a statement.

        Args:
            code: the statement.
        """
        from ecg_ontology.statements.machines import read_statement

        concepts = [
            mention.concept
            for mention in read_statement(self._graph, code)
            if mention.concept and mention.present and mention.certainty != "possible"
        ]
        return tuple(dict.fromkeys(self._codes[node.index] for node in concepts if node.index in self._codes))

    @property
    def about(self) -> dict[str, Any]:
        """Origin of the mapped codes: the SHA-256 of the tables under ``["sha256"]["mapping"]``."""
        digest = hashlib.sha256()
        for path in sorted(TABLES.glob("*.tsv")):
            digest.update(path.read_bytes())
        return {"sha256": {"mapping": digest.hexdigest()}}


def _pairs(path: Path) -> Iterator[tuple[str, str]]:
    """Yield pairs of a code or text and a SNOMED CT identifier. Rows without an identifier are skipped."""
    if path.suffix.lower() not in {".csv", ".xlsx"}:
        yield from code_pairs(path)
        return
    if missing := [name for name in MAPPING_COLUMNS if name not in column_names(path)]:
        problem = f"a mapping must have the columns code and snomed, got no {' and no '.join(missing)}"
        raise InputError(problem, where=path, remedy="Rename the columns")
    for place, (code, target) in rows(path, list(MAPPING_COLUMNS)):
        identifier = cell_text(target)
        if not identifier:
            continue
        if reason := malformation(identifier) if identifier.isdecimal() else "it isn't a number":
            problem = f"snomed must be a SNOMED CT identifier, got {identifier!r}: {reason}"
            raise InputError(
                problem, where=f"{path}, {place}", remedy="Write only the number, or leave the cell empty"
            )
        yield cell_text(code), identifier


def _parted(code: str) -> tuple[str, str]:
    """Split a code into its vocabulary and the code in capitals.

    The point is removed from ICD-10 codes, because many hospitals write I480 instead of I48.0.
    """
    prefix = re.match(r"([\w.-]+):(?=\S)", code)
    bare = code[prefix.end() :].upper() if prefix else code.upper()
    vocabulary = prefix[1].lower() if prefix else ""
    return _SHORT_NAMES.get(vocabulary, vocabulary), bare.replace(".", "") if _ICD10.fullmatch(bare) else bare


def cell_text(cell: object) -> str:
    """Return a cell as text.

    Floats without a fraction become integers, because pandas reads columns of integers with gaps as floats.
    Text is normalised (NFC), because ü can be one or two characters.
    """
    if isinstance(cell, float):
        return "" if math.isnan(cell) else str(int(cell)) if cell.is_integer() else str(cell)
    return "" if cell is None else unicodedata.normalize("NFC", str(cell).strip())
