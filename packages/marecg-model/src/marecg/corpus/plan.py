"""Plan a preparation before it starts: candidates, shards, and paths of the files.

A candidate is a record that was found in a source, but hasn't been read. A shard is a file with the signals
of up to `CorpusConfig.shard` records.

corpus.json      config, leads, unit and ontology; written last, so a corpus with this file is complete
ontology.json    the graph, and the mapping of codes to its concepts
index.parquet    one row per kept record (index.py)
report.json      numbers of kept and quarantined records, with reasons (account.py)
shards/*.npy     int16 [records, 12, samples], 1 µV per unit
building/        only during preparation: the plan, and the index rows and report of each finished shard
"""

import hashlib
import logging
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

import ecg_ontology
from ecg_base import remove_left_over, replacing
from ecg_ontology import Ontology
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.discovery import hash_sources
from ecg_records.record import Candidate
from ecg_records.signal.leads import LEADS
from marecg.corpus import index
from marecg.corpus.account import read_report
from marecg.corpus.config import CorpusConfig
from marecg.corpus.index import ONTOLOGY, read_json, write_json
from marecg.corpus.prepared import Corpus, open_shard
from marecg.errors import CorpusError, InputError, Reason, in_short

logger = logging.getLogger(__name__)
_WORDS = {
    "format": "format",
    "config": "settings",
    "profile": "routing profile",
    "routing_sha256": "routing table",
    "sources": "sources",
    "records_sha256": "records",
    "arrays": "array layout",
    "codes": "code table",
}
"""Keys of corpus.json (the manifest), with the words that error messages use for them."""


@dataclass(frozen=True)
class Plan:
    """Plan of a preparation. Two preparations with equal plans write equal files.

    Attributes:
        out: Folder of the corpus.
        candidates: Records to prepare, in order. They are divided into shards.
        config: Settings for preparing records.
        settings: Content of `corpus.json` that is known before the preparation.
        ontology: Ontology of the labels.
    """

    out: Path
    candidates: Sequence[Candidate]
    config: CorpusConfig
    settings: dict[str, Any]
    ontology: Ontology

    @classmethod
    def of(
        cls,
        out: Path,
        candidates: Sequence[Candidate],
        config: CorpusConfig,
        ontology: Ontology,
        layout: Layout | None = None,
        codes: dict[str, Any] | None = None,
    ) -> "Plan":
        """Plan a corpus.

        Args:
            out: Folder of the corpus.
            candidates: Records to prepare, in order.
            config: Settings for preparing records.
            ontology: Ontology of the labels.
            layout: Layout (rate, leads, units) of the array files among the sources.
            codes: Description of the code table or mapping, stored in `corpus.json`.
        """
        settings = {
            "format": index.FORMAT,
            "config": config.model_dump(mode="json"),
            "leads": list(LEADS),
            "unit": "µV",
            "profile": ontology.profile,
            "ontology_sha256": ontology.sha256,
            "routing_sha256": routing_sha256(ontology),
            "sources": sorted({candidate.root_name for candidate in candidates}),
            **hash_sources(candidates, _begun_with(out)).described(),
            "arrays": layout.as_dict() if layout else None,
            "codes": codes,
        }
        return cls(out, candidates, config, settings, ontology)

    def __len__(self) -> int:
        """Return the number of shards."""
        return math.ceil(len(self.candidates) / self.config.shard)

    def shard(self, number: int) -> Sequence[Candidate]:
        """Return the candidates of a shard."""
        first = number * self.config.shard
        return self.candidates[first : first + self.config.shard]

    @property
    def building(self) -> Path:
        """Folder for the parts of an unfinished corpus."""
        return self.out / "building"

    def signals_file(self, number: int) -> Path:
        """Return the path of a shard's signals."""
        return self.out / "shards" / f"{number:05d}.npy"

    def growing_file(self, number: int) -> Path:
        """Return a new path for an unfinished shard, to which workers of a killed call can't write."""
        return self.building / f".{number:05d}-{os.urandom(8).hex()}.npy"

    def rows_file(self, number: int) -> Path:
        """Return the path of a shard's index rows."""
        return self.building / f"{number:05d}.parquet"

    def quarantine_file(self, number: int) -> Path:
        """Return the path of the file with a shard's quarantined records. This file is written last."""
        return self.building / f"{number:05d}.json"

    def begin(self) -> bool:
        """Set up the folder for a new or continued preparation, and return whether the corpus is complete.

        Raises `CorpusError` if the folder contains something else, or a corpus of another plan.
        """
        complete, begun = self.out / "corpus.json", self.building / "plan.json"
        manifest = next((path for path in (complete, begun) if path.is_file()), None)
        if manifest is None:
            paths = [*self.out.glob("[!.]*"), *self.building.glob("[!.]*")]  # ignores leftover hidden files
            unknown = [path.name for path in paths if path != self.building]
            if unknown:
                problem = f"is not empty ({', '.join(sorted(unknown)[:3])}) and has no corpus"
                raise CorpusError(problem, where=self.out, remedy="Choose another folder")
            write_json(self.settings, begun)
        elif problem := self._difference(read_json(manifest)):
            remedy = "Choose another folder for --out, or remove this one"
            raise CorpusError(f"already has a corpus with {problem}", where=self.out, remedy=remedy)
        else:
            self.tidy()
            if manifest == complete and self._is_undamaged() and not self._reopened():
                return True
        self.ontology.save(self.out / ONTOLOGY)
        return False

    def tidy(self) -> None:
        """Remove the unfinished files of this call and of killed calls."""
        for folder in (self.out, self.building, self.out / "shards"):
            remove_left_over(folder, alone=True)
        for growing in self.building.glob(".*.npy"):
            growing.unlink(missing_ok=True)

    def has_finished(self, number: int) -> bool:
        """Return whether the three files of a shard (signals, index rows, quarantined records) are complete.

        All files are read, because a file may be empty after a power cut.
        """
        try:
            quarantined = read_json(self.quarantine_file(number))
            rows = index.read(self.rows_file(number), ["signal_hash"]).num_rows
            open_shard(self.signals_file(number), rows, self.config.window)
        except CorpusError:
            return False
        return bool(rows + len(quarantined) == len(self.shard(number)))

    def _is_undamaged(self) -> bool:
        """Return whether a complete corpus is undamaged. If it is damaged, mark it as unfinished."""
        try:
            Corpus.open(self.out)
            read_report(self.out)
        except InputError as error:
            logger.warning("%s %s; preparing the corpus again", error.where, error.problem)
            write_json(self.settings, self.building / "plan.json")
            (self.out / "corpus.json").unlink()
            return False
        return True

    def _reopened(self) -> bool:
        """Mark a complete corpus as unfinished if records were unavailable, so that they are tried again.

        A record is unavailable if its file couldn't be reached. Shards without such records stay finished.

        Returns:
            Whether any record was unavailable.
        """
        records = read_report(self.out).records
        if not any(entry.reason == Reason.unavailable for entry in records):
            return False
        rows = index.of(self.out)
        entries = {(entry.root, entry.path): entry for entry in records}
        for number in range(len(self)):
            paths = [(candidate.root_name, candidate.path) for candidate in self.shard(number)]
            quarantined = [entries[path] for path in paths if path in entries]
            if all(entry.reason != Reason.unavailable for entry in quarantined):
                with replacing(self.rows_file(number), private=True) as temporary:
                    index.write(rows.filter(pc.equal(rows["shard"], number)), temporary)
                write_json([entry.model_dump() for entry in quarantined], self.quarantine_file(number))
        write_json(self.settings, self.building / "plan.json")
        (self.out / "corpus.json").unlink()
        return True

    def _difference(self, manifest: Any) -> str:
        """Describe how the corpus in the folder differs from the plan. Empty if nothing differs."""
        if not isinstance(manifest, dict):
            manifest = {"ontology_sha256": self.settings["ontology_sha256"]}
        if manifest.get("ontology_sha256") != self.settings["ontology_sha256"]:
            carried = self.out / ONTOLOGY
            differences = ecg_ontology.load(carried).difference(self.ontology) if carried.is_file() else ()
            return f"another ontology{': ' if differences else ''}{in_short(differences)}"
        if isinstance(manifest.get("config"), dict):  # an older manifest lacks new settings: use defaults
            manifest |= {"config": CorpusConfig().model_dump(mode="json") | manifest["config"]}
        words = [word for key, word in _WORDS.items() if manifest.get(key) != self.settings[key]]
        return f"other {' and '.join(words)}" if words else ""


def _begun_with(out: Path) -> dict[str, Any] | None:
    """Return the settings of the finished or unfinished corpus in a folder, or None if there is no corpus."""
    paths = (out / "corpus.json", out / "building" / "plan.json")
    manifest = next((read_json(path) for path in paths if path.is_file()), None)
    return manifest if isinstance(manifest, dict) else None


def routing_sha256(ontology: Ontology) -> str:
    """Return a hash of the routing, the mapping of codes to concepts.

    The ontology's own hash, `Ontology.sha256`, covers only the concepts and their order.
    """
    table = "\n".join(f"{code} {ontology.route(code).leaves}" for code in sorted(ontology.codes))
    return hashlib.sha256(table.encode()).hexdigest()
