"""Define what a task of a probe is: recordings, labels and a split.

Shapes: R recordings, M labelled records, K classes, C leads, L samples.
"""

import csv
import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marecg.corpus.datasets import fold_of
from marecg.errors import UsageError

FS = 500
"""Sampling rate in Hz of every recording of a task."""
TRAIN, VAL, TEST = SPLITS = ("train", "val", "test")
ENDING = r"\.[A-Za-z]\w{1,7}$"
"""Pattern of a file's suffix. A record may be named by its file name."""


@dataclass(frozen=True)
class Recordings:
    """Recordings of a dataset, which several tasks may share.

    Attributes:
        name: name of the dataset.
        ids: R unique record names.
        sha256: hash that changes when the recordings change.
        window: description of the part of a recording that is read.
        read: function from a record's number to its signal, float32 [12, L] in mV at 500 Hz, with leads in
            the order of `LEADS`. It raises `RecordError` for an unusable record.
        identities: R published names (`identity.published_as`), or empty if unknown.
        patients: R patients (`identity.patient_of`), or empty if unknown.
        patient_by_identity: patient of each record of the dataset, by published name. It includes records
            that aren't on disk. It identifies copies in other collections, which have no patient ids.
        people: R values of each attribute, for example ages in years as `age`; empty if unknown.
        other_names: function that returns the row of each further name of a recording. A name of several
            recordings has the row −1.
    """

    name: str
    ids: tuple[str, ...]
    sha256: str
    window: str
    read: Callable[[int], NDArray[np.float32]]
    identities: tuple[str | None, ...] = ()
    patients: tuple[str | None, ...] = ()
    patient_by_identity: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    people: Mapping[str, Sequence[object]] = field(default_factory=dict, repr=False)
    other_names: Callable[[], Mapping[str, int]] = field(default=dict, repr=False)

    def rows_named(self, names: Iterable[str]) -> list[int | None]:
        """Return the row of each name. A name may have the suffix of a file.

        The row is None for an unknown name, and −1 for a name of several recordings.
        """
        return rows_named({**self.other_names(), **{name: row for row, name in enumerate(self.ids)}}, names)


def rows_named(row_of: Mapping[str, int], names: Iterable[str]) -> list[int | None]:
    """Return the row of each name in `row_of`, or None. A name may have the suffix of a file."""
    return [row_of.get(name, row_of.get(re.sub(ENDING, "", name))) for name in names]


View = Callable[[Recordings], Recordings]
"""Function from the recordings of a dataset to the recordings that a method receives."""


def unchanged(recordings: Recordings) -> Recordings:
    """Return the recordings unchanged. This is the default of `Task.view`."""
    return recordings


@dataclass(frozen=True)
class LabelTable:
    """Labels and split of M records.

    Attributes:
        classes: names of the K classes.
        ids: names of the records.
        y_MK: labels, uint8.
        split_M: part of each record: `train`, `val`, `test`, or "" if its fold is left out.
    """

    classes: tuple[str, ...]
    ids: tuple[str, ...]
    y_MK: NDArray[np.uint8]
    split_M: NDArray[np.str_]


@dataclass(frozen=True)
class Task:
    """Task of a probe: a multi-label classification of recordings.

    Attributes:
        name: name of the task.
        classes: names of the K classes.
        recordings: recordings of the dataset.
        row_M: int64 [M], number of each labelled record in `recordings`.
        y_MK: uint8 [M, K], 1 if a record has a class.
        split_M: part of each record: `train`, `val`, `test`, or "" if its fold is left out.
        folds: description of how the split was made.
        missing: labelled records that are not on disk.
        unlabelled: number of recordings without labels, which are left out.
        concepts: abbreviations of the concepts of each class, used for zero-shot scores.
        view: function of the protocol that prepares the recordings for a method.
    """

    name: str
    classes: tuple[str, ...]
    recordings: Recordings
    row_M: NDArray[np.int64]
    y_MK: NDArray[np.uint8]
    split_M: NDArray[np.str_]
    folds: str
    missing: tuple[str, ...]
    unlabelled: int
    concepts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    view: View = unchanged

    @cached_property
    def viewed(self) -> Recordings:
        """Return the recordings in the task's view."""
        return self.view(self.recordings)

    def only(self, keep_M: NDArray[np.bool_]) -> "Task":
        """Return the task with selected records."""
        return replace(self, row_M=self.row_M[keep_M], y_MK=self.y_MK[keep_M], split_M=self.split_M[keep_M])

    def part(self, name: str) -> "Task":
        """Return the task with the records of one part: `train`, `val` or `test`."""
        return self.only(self.split_M == name)

    def without(self, records: Collection[str]) -> "Task":
        """Return the task without some records, which are named by their ids."""
        return self.only(np.array([self.recordings.ids[row] not in records for row in self.row_M], bool))

    @property
    def sha256(self) -> str:
        """Return a hash of the task's records, labels and split."""
        digest = hashlib.sha256("\n".join(self.classes).encode())
        for row, y_K, split in zip(self.row_M, self.y_MK, self.split_M, strict=True):
            digest.update(f"{self.recordings.ids[row]} {split} ".encode() + y_K.tobytes())
        return digest.hexdigest()


def task_sha256(rotations: Sequence[Task]) -> str:
    """Return a hash of a task that is probed with several splits. `rotations` has a task per split."""
    if len(rotations) == 1:
        return rotations[0].sha256
    return hashlib.sha256(" ".join(task.sha256 for task in rotations).encode()).hexdigest()


def assemble(
    name: str,
    recordings: Recordings,
    table: LabelTable,
    folds: str,
    absent: tuple[str, ...] = (),
    concepts: Mapping[str, tuple[str, ...]] | None = None,
) -> Task:
    """Build a task from recordings and a table of labels. Records are matched by their ids.

    Args:
        name: name of the task.
        recordings: recordings of the dataset.
        table: labels and split. Records that aren't in `recordings` are listed as missing.
        folds: description of how the split was made.
        absent: further records that are known to be missing.
        concepts: abbreviations of the concepts of each class.
    """
    number = {record: row for row, record in enumerate(recordings.ids)}
    present = [position for position, record in enumerate(table.ids) if record in number]
    missing = [record for record in table.ids if record not in number]
    return Task(
        name=name,
        classes=table.classes,
        recordings=recordings,
        row_M=np.array([number[table.ids[position]] for position in present], np.int64),
        y_MK=table.y_MK[present],
        split_M=table.split_M[present],
        folds=folds,
        missing=(*missing, *absent),
        unlabelled=len(recordings.ids) - len(present),
        concepts=concepts or {},
    )


def multi_hot(labels: Iterable[Iterable[str]], classes: tuple[str, ...]) -> NDArray[np.uint8]:
    """Convert sets of class names to labels uint8 [M, K]. Unknown names are ignored.

    Example:
        >>> multi_hot([{"MI", "CD"}, {"SR"}], ("CD", "MI"))
        array([[1, 1],
               [0, 0]], dtype=uint8)
    """
    rows = [[name in present for name in classes] for present in map(set, labels)]
    return np.array(rows, np.uint8).reshape(len(rows), len(classes))


def files_sha256(root: Path, files: Iterable[Path]) -> str:
    """Return a hash of the files' paths in `root`, sizes and modification times. The files aren't read."""
    digest = hashlib.sha256()
    for file in files:
        state = file.stat()
        digest.update(f"{file.relative_to(root)} {state.st_size} {state.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def split_of(record: str) -> str:
    """Return the part of a record or patient by a hash of its name: 60 % train, 20 % val, 20 % test.

    Example:
        >>> split_of("georgia/E00001")
        'test'
    """
    fold = fold_of(record)
    return TRAIN if fold < 6 else VAL if fold < 8 else TEST


@dataclass(frozen=True)
class Folds:
    """Folds for training, validation and test, in this order. Records in other folds are left out.

    Example:
        >>> folds = Folds.of("1-5,6,7-8")
        >>> [folds.part(number) for number in (5, 6, 8, 9)]
        ['train', 'val', 'test', '']
        >>> str(Folds.of("5-8+1,2,3-4"))
        'train 5–8+1, val 2, test 3–4'
    """

    parts: tuple[tuple[int, ...], ...]
    text: str

    @classmethod
    def of(cls, text: str) -> "Folds":
        """Parse `TRAIN,VAL,TEST`. Each part is a fold, a range, or several of these joined by `+`.

        Raises `UsageError` if the text is invalid.
        """
        parts = tuple(_numbers(part) for part in text.split(","))
        numbers = [number for part in parts for number in part]
        if len(parts) != 3 or not all(parts) or len(set(numbers)) != len(numbers):
            problem = f"folds must be three parts without common folds, got {text!r}"
            raise UsageError(problem, remedy="Write TRAIN,VAL,TEST, such as 1-5,6,7-8 or 5-8+1,2,3-4")
        return cls(parts, text)

    def part(self, number: int) -> str:
        """Return `train`, `val` or `test` for a fold, or "" if the fold is left out."""
        return next((name for name, part in zip(SPLITS, self.parts, strict=True) if number in part), "")

    def __str__(self) -> str:
        parts = "".join(self.text.split()).replace("-", "–").split(",")
        return ", ".join(f"{name} {part}" for name, part in zip(SPLITS, parts, strict=True))


def _numbers(part: str) -> tuple[int, ...]:
    """Return the numbers of a part's folds, or () if the text is invalid."""
    runs = [re.fullmatch(r"(\d+)(?:-(\d+))?", run.strip()) for run in part.split("+")]
    if not all(runs):
        return ()
    return tuple(number for run in runs if run for number in range(int(run[1]), int(run[2] or run[1]) + 1))


@dataclass(frozen=True)
class TaskDefinition:
    """Definition of a task, which builds the task from a folder.

    Attributes:
        name: name for `marecg probe --task` and for reports.
        data: name of the dataset for `marecg probe --root DATA=PATH`. Tasks may share a dataset.
        build: function that builds the task from the dataset's folder. It raises `CorpusError` if the folder
            is missing or unreadable.
        takes: optional keywords of `build`: `splits`, a folder of MERL's split tables
            (`marecg.evaluate.tasks.label_tables`), and `folds`, a `Folds`.
    """

    name: str
    data: str
    build: Callable[..., Task]
    takes: tuple[str, ...] = ()

    def open(self, root: Path, splits: Path | None = None, *, folds: Folds | None = None) -> Task:
        """Build the task.

        Args:
            root: folder of the dataset.
            splits: folder of MERL's split tables (`marecg.evaluate.tasks.label_tables`), which replace the
                task's own labels and split.
            folds: folds of each part, which replace the task's own split.

        Raises:
            UsageError: the task doesn't support split tables or folds, or both are given.
            CorpusError: the data is missing or unreadable.
        """
        if folds is not None:
            if "folds" not in self.takes or splits is not None:
                reason = "" if splits is None else " together with splits"
                problem = f"the folds of the task {self.name} can't be chosen{reason}"
                raise UsageError(problem, remedy="Leave out --set folds")
            return self.build(root, folds=folds)
        if splits is None:
            return self.build(root)
        if "splits" not in self.takes:
            problem = f"the task {self.name} has no split tables"
            raise UsageError(problem, remedy="Leave out --set splits")
        return self.build(root, splits=splits)


@cache
def zeroshot_concepts(task: str) -> dict[str, tuple[str, ...]]:
    """Return the abbreviations of the concepts of each class of a published task."""
    with Path(__file__).with_name("zeroshot.tsv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["task"] == task]
    return {row["class"]: tuple(row["concepts"].split()) for row in rows}
