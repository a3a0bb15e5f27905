"""What a probe reports, in the form in which it is printed as JSON and kept in the run folder."""

from marecg.base.config import Frozen
from marecg.model.card_figures import GroupFigure


class Spread(Frozen):
    """A mean over seeds; `sd` (n − 1) is None where there was one seed."""

    mean: float
    sd: float | None


class Range(Frozen):
    """A 95 % bootstrap interval over the test records."""

    low: float
    high: float


class AucDifference(Range):
    """A method's macro AUC minus another's on the same records, with its paired interval; p is two-sided."""

    mean: float
    p: float


class ClassScore(Frozen):
    """One class on the test records; `support` counts its positives there."""

    name: str
    support: int
    auc: Spread
    ap: Spread


class Cell(Frozen):
    """One method at one share of the training records.

    Attributes:
        method: whose features; `zero-shot` reads the concept prototypes instead.
        dimension: how many features.
        fraction: the share; 0 for zero-shot.
        records: how many records it is.
        seeds: how many draws.
        macro_auc: over the classes in `classes`.
        interval: of the macro AUC, averaged over seeds.
        versus_encoder: against the report's `reference`; None for itself, and where it was not probed at
            this share.
        val_macro_auc: of what was chosen, on val; None for zero-shot.
        chosen: per seed what was chosen on val: C in `strict`, the epoch in `merl`, α for ridge.
        classes: every class that has positives and negatives in test.
        left_out: the classes that have not.
        untrained: per seed, the classes that the drawn records don't show (or no concept stands for); the
            report's policy says how they count.
        seconds: wall time of all draws, without computing features.
    """

    method: str
    dimension: int
    fraction: float
    records: int
    seeds: int
    macro_auc: Spread
    interval: Range
    versus_encoder: AucDifference | None
    val_macro_auc: Spread | None
    chosen: tuple[float, ...]
    classes: tuple[ClassScore, ...]
    left_out: tuple[str, ...]
    untrained: tuple[tuple[str, ...], ...]
    seconds: float


class Counts(Frozen):
    """The records of a task; the missing and the unreadable are named, the latter with their reason."""

    train: int
    val: int
    test: int
    unlabelled: int
    missing: tuple[str, ...]
    unreadable: dict[str, str]


class Leak(Frozen):
    """Val and test records that the encoder was pretrained on, each under the first sign that gave it away.

    Attributes:
        same_record: by what the world calls them.
        same_patient: by their patient.
        same_signal: by the very same samples.
    """

    records: int
    same_record: tuple[str, ...]
    same_patient: tuple[str, ...]
    same_signal: tuple[str, ...]


class Report(Frozen):
    """Everything that a number depends on, and the numbers.

    Attributes:
        reference: the method that the report is about, and that the others are compared with.
        normalisation: how signals and features are scaled.
        rotations: how often the folds were dealt; test records are those of all, figures the means over them.
        policy: which classes the macro AUC is over.
        notes: what is done otherwise than in MERL's code, by its protocol.
        model: the folder, or the file of features, that was judged; the hashes are empty where there is none.
        leak: None where it is unknown what the encoder was pretrained on.
        rank: the effective rank of h_rhythm over the task's records (`marecg.train.monitors`); None of mere
            features.
        request: how it was asked (`request.Request.told`); empty in reports of before.
        remarks: what must be known of the encoder to read its rows.
        groups: by age, sex and source, as far as the task tells.
    """

    task: str
    protocol: str
    reference: str
    normalisation: str
    policy: str
    notes: tuple[str, ...]
    folds: str
    window: str
    classes: tuple[str, ...]
    records: Counts
    model: str
    model_sha256: str
    ontology_sha256: str
    data_sha256: str
    task_sha256: str
    leak: Leak | None
    rank: float | None = None
    request: str = ""
    remarks: tuple[str, ...] = ()
    rotations: int = 1
    cells: tuple[Cell, ...]
    groups: tuple[GroupFigure, ...] = ()
