"""Load the model under test, check for test records that were in its training (leaks), and write the report.

A rotation is a choice of folds for training, validation and test. h_rhythm is the encoder's pooled vector of
a record. Its effective rank is the number of directions in which records differ. With a rank near 1, the
encoder hardly distinguishes records.

Shapes: M test records of all rotations, K classes, F features, D width, R rotations, C leads, L samples.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
import torch

import ecg_ontology
from ecg_base import write_text
from ecg_ontology import Ontology
from ecg_records.signal.quality import mended
from ecg_records.storage.copies import address
from marecg.corpus import trained_on
from marecg.corpus.config import CorpusConfig
from marecg.corpus.trained_on import TrainedOn
from marecg.errors import OutputError, RecordError, UsageError
from marecg.evaluate.methods.features import features_sha256, finite
from marecg.evaluate.methods.frozen_encoder import concept_scores_of, known_concepts
from marecg.evaluate.methods.method import FeatureTable
from marecg.evaluate.request import Request
from marecg.evaluate.scores.metrics import group_figures
from marecg.evaluate.scores.predictions import predictions, save
from marecg.evaluate.scores.results import Counts, Leak, Report
from marecg.evaluate.scores.summary import ENCODER, MEAN_H, READ_AS, Trial, pooled, summarise
from marecg.evaluate.tasks.task import FS, SPLITS, TEST, TRAIN, Recordings, Task, task_sha256
from marecg.model.by_family import judged_by_family
from marecg.model.mar_ecg import MarEcg
from marecg.model.names import public_name
from marecg.model.pretrained import folder_of, weights_sha256
from marecg.nn.collapse import effective_rank

UNTRAINED_POOL = (
    "no loss of the recipe trains the pool of h_rhythm, so the row encoder depends on random weights; "
    "the row encoder, mean H doesn't"
)


@dataclass(frozen=True)
class ModelUnderTest:
    """Tested model, which is an encoder or a file of features.

    Attributes:
        name: name of the model's row. The other rows are compared with this row.
        place: folder of the model, or file of features.
        sha256: hash of the weights, or of the file.
        model, ontology: the encoder and its graph; None for a file of features.
        run: folder that may contain the list of records that the encoder was trained on.
    """

    name: str
    place: Path
    sha256: str
    model: MarEcg | None = None
    ontology: Ontology | None = None
    run: Path | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return remarks on the tested model, for the report."""
        return (UNTRAINED_POOL,) if self.model and not self.model.pool.trained else ()


def load_under_test(run: str | Path | None, features: Mapping[str, Path], request: Request) -> ModelUnderTest:
    """Load the model under test: the encoder of a run or, without a run, the first file of features.

    The protocol may name the model's row. Otherwise, the row has the name of the requested readout.

    Raises:
        UsageError: there is neither a run nor features, or concepts are requested from a model without
            prototypes.
    """
    if run is None:
        if not features:
            remedy = "Give the folder of a run, or --features NAME=FILE"
            raise UsageError("a run or features must be given, got neither", remedy=remedy)
        name, file = next(iter(features.items()))
        return ModelUnderTest(name, file, features_sha256(file))
    folder = folder_of(run)
    model = MarEcg.from_pretrained(folder).to("cuda" if torch.cuda.is_available() else "cpu")
    ontology = ecg_ontology.load(folder / "ontology.json")
    if request.readout == "concepts" and not model.prototypes.any():
        remedy = "Set readout=beats, or give a model that was trained with GSCL"
        raise UsageError(
            f"readout=concepts needs a model trained with GSCL, but {run} has no prototypes", remedy=remedy
        )
    row = request.protocol.row or READ_AS[request.readout]
    run_folder = trained_on.folder_beside(folder)
    return ModelUnderTest(row, folder, weights_sha256(model), model, ontology, run_folder)


def leak(run: Path, *rotations: Task) -> Leak | None:
    """Return the validation and test records that a run was pretrained on, or None if they are unknown.

    If the run started from weights without a list of training records, the run's list is incomplete. If no
    validation or test record is in an incomplete list, the result is None.

    Bit-identical copies of a signal are found under any name. Rescaled copies are not found; `marecg audit`
    finds them. A copy in the corpus may have no patient id, for example a record of PTB-XL from the CinC
    Challenges. In this case, the patient of the original record is used.
    """
    trained = trained_on.read(run)
    if trained is None:
        return None
    recordings = rotations[0].recordings
    held_out = sorted({int(row) for task in rotations for row in task.row_M[task.split_M != TRAIN]})
    copied = {recordings.patient_by_identity.get(name) for name in trained.identities} - {None}
    patients = trained.patients | copied
    same: dict[str, list[str]] = {"record": [], "patient": [], "signal": []}
    for row in held_out:
        if recordings.identities and recordings.identities[row] in trained.identities:
            sign = "record"
        elif recordings.patients and recordings.patients[row] in patients:
            sign = "patient"
        elif _is_leaked(recordings, row, trained):
            sign = "signal"
        else:
            continue
        same[sign].append(recordings.ids[row])
    if not trained.complete and not any(same.values()):
        return None
    return Leak(
        records=sum(map(len, same.values())), **{f"same_{sign}": tuple(ids) for sign, ids in same.items()}
    )


def _is_leaked(recordings: Recordings, row: int, trained: TrainedOn) -> bool:
    """Return whether a window of this recording, cut as for training, was in training."""
    if trained.fs != FS:
        return False
    try:
        x_CL = recordings.read(row)
        mend = mended(x_CL, FS, CorpusConfig(), judged=max(trained.windows))
        return trained.saw(finite(mend.x_CL)) or trained.saw(finite(x_CL))
    except RecordError:
        return False


RANKED = 5000
"""Maximum number of records for computing the effective rank."""


@dataclass(frozen=True)
class Judged:
    """Trials of all rows of the report on a rotation of a task.

    Attributes:
        task: the rotation, with the records that all methods can read.
        widths: number of features of each row, by the row's name.
        unreadable: reason of each unreadable record, by id.
        trials: trials of each row, by the row's name.
        rank: effective rank of the encoder's record vectors (`rank_of`); None for a file of features.
    """

    task: Task
    widths: Mapping[str, int]
    unreadable: Mapping[str, str]
    trials: Mapping[str, Sequence[Trial]]
    rank: float | None = None


def home_of(under_test: ModelUnderTest, out: Path | None) -> Path:
    """Return the folder for the report: `out`, or the run folder. Raises `UsageError` if there is neither."""
    without_run = under_test.run is None or under_test.run == under_test.place.absolute()
    if out is None and (without_run or address(under_test.place)):
        raise UsageError("without a run, --out must name a folder for the report")
    return out or under_test.place.parent


def try_writing(home: Path) -> None:
    """Raise `OutputError` if the report can't be written. Call it before the long computation."""
    folder = home / "probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        problem = f"cannot be written ({error.strerror})"
        raise OutputError(problem, where=folder, remedy="Choose another folder as --out") from error


def keep_report(home: Path, under_test: ModelUnderTest, request: Request, judged: Sequence[Judged]) -> Report:
    """Summarise the trials of all rotations, and write the report and the predictions on the test records."""
    task, protocol = judged[0].task, request.protocol
    tested = [fold.task.part(TEST) for fold in judged]
    y_MK = np.concatenate([part.y_MK for part in tested])
    rotation_M = np.repeat(np.arange(len(tested)), [len(part.row_M) for part in tested])
    rotations = rotation_M if len(judged) > 1 else None
    trials = {name: pooled([fold.trials[name] for fold in judged]) for name in judged[0].trials}
    ranks = [fold.rank for fold in judged if fold.rank is not None]
    ids = tuple(part.recordings.ids[row] for part in tested for row in part.row_M)
    predicted = predictions(ids, task.classes, y_MK, trials, under_test.name, rotations)
    people = {
        attribute: [values[row] for part in tested for row in part.row_M]
        for attribute, values in task.recordings.people.items()
    }
    concepts = under_test.model and concept_scores_of(under_test.model, request.readout)
    report = Report(
        task=task.name,
        protocol=protocol.name,
        reference=under_test.name,
        normalisation=protocol.normalisation,
        policy=protocol.policy,
        notes=protocol.notes,
        folds="; ".join(fold.task.folds for fold in judged),
        rotations=len(judged),
        window=task.viewed.window,
        classes=task.classes,
        records=_counts(judged),
        model=public_name(under_test.place),
        model_sha256=under_test.sha256,
        ontology_sha256=under_test.ontology.sha256 if under_test.ontology else "",
        data_sha256=task.viewed.sha256,
        task_sha256=task_sha256([fold.task for fold in judged]),
        concepts_sha256=concepts.sha256 if concepts else "",
        leak=leak(under_test.run, *(fold.task for fold in judged)) if under_test.run else None,
        rank=min(ranks, default=None),
        request=request.as_json,
        remarks=(*under_test.remarks, *_of_concepts(under_test, task, request)),
        cells=summarise(
            trials, judged[0].widths, y_MK, task.classes, under_test.name, request.resamples, rotations
        ),
        groups=group_figures(
            people, y_MK, predicted.logits[under_test.name, request.fractions[-1]], rotations
        ),
    )
    path = home / "probe" / f"{report.task}-{report.protocol}"
    save(path.with_suffix(".npz"), predicted)
    write_text(path.with_suffix(".json"), report.model_dump_json(indent=2), private=True)
    return report


def rank_of(features_of: Mapping[str, FeatureTable], task: Task) -> float | None:
    """Return the effective rank of the encoder's record vectors, over at most `RANKED` records.

    The record vector is h_rhythm or, if no loss has trained the pool, the mean of the encoder's output. The
    result is None if `features_of`, the features of each row, has no row of an encoder.
    """
    features = features_of.get(MEAN_H, features_of.get(ENCODER))
    if features is None:
        return None
    h_MD = features.x_RF[task.row_M]
    return effective_rank(torch.from_numpy(h_MD[:: 1 + len(h_MD) // RANKED]))


def _counts(judged: Sequence[Judged]) -> Counts:
    """Count the records: the total of test records over all rotations, and the average of train and val."""
    train, val, test = ([int((fold.task.split_M == part).sum()) for fold in judged] for part in SPLITS)
    task = judged[0].task
    return Counts(
        train=round(np.mean(train)),
        val=round(np.mean(val)),
        test=sum(test),
        unlabelled=task.unlabelled,
        missing=task.missing,
        unreadable={record: reason for fold in judged for record, reason in fold.unreadable.items()},
    )


def _of_concepts(under_test: ModelUnderTest, task: Task, request: Request) -> Iterator[str]:
    """Yield remarks on the concept scores, and on classes whose concepts are unknown or scored by family."""
    if under_test.model is None or under_test.ontology is None or not under_test.model.prototypes.any():
        return
    if under_test.model.concept_scores and not concept_scores_of(under_test.model, request.readout):
        yield f"readout={request.readout} has no beats, so only the prototypes score concepts"
    onto = under_test.ontology
    with_concepts = [name for name in task.classes if task.concepts.get(name)]
    classes = ", ".join(name for name in with_concepts if not known_concepts(task, name, onto))
    if classes:
        yield f"the encoder's graph lacks concepts of {classes}, so zero-shot can't score these classes"
    without_record = {onto.nodes[leaf].abbr for leaf in judged_by_family(under_test.model)}
    known = [name for name in task.classes if known_concepts(task, name, onto)]
    if by_family := [name for name in known if without_record.issuperset(known_concepts(task, name, onto))]:
        classes = ", ".join(by_family)
        yield f"no training record of the encoder had {classes}, so zero-shot scores them by their family"
