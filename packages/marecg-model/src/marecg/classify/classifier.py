"""Fine-tuned, calibrated classifier with scikit-learn's interface, saved as safetensors and JSON.

Shapes: B records, M validation records, K classes, L samples.
"""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GroupShuffleSplit
from sklearn.utils.validation import check_is_fitted

from ecg_base import refuse_others, replacing
from ecg_records.signal.leads import LEADS
from marecg.base.device import best_device
from marecg.classify.calibration import Calibration, Method, calibrate, called_classes, check_rule, threshold
from marecg.classify.classifier_folder import FILES, MARK, Description, read_folder, write_folder
from marecg.classify.labels import targets_of
from marecg.classify.logistic import Logistic, expected_shifts
from marecg.classify.tuning import HEADS, Floats, Tuned, Tuning, Vectors, tune
from marecg.embedding.embed import loaded, records
from marecg.errors import UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.model.readout import Readout
from marecg.model.windows import Recording, arranged, required_rate

Reads = Literal[Readout, "best"]
"""Readout, that is, the features that the encoder gives to the head (`marecg.model.readout`).

With `best`, the readout is chosen by the log loss on the held-out records.
"""
HELD_OUT = 0.2
"""Share of the records that are held out for early stopping, calibration and thresholds."""


class EcgClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier of labelled ECGs: a new head on a frozen, partly trained or fully trained encoder.

    A fifth of the records is held out at random. The held-out records decide when training stops, calibrate
    the probability of each class, and choose the threshold at which each class is reported as present.

    Args:
        model: a `MarEcg`, or a model in any form accepted by `MarEcg.from_pretrained`. It isn't changed.
        layers: `head` to train only the head, `last:N` to train the encoder's last N blocks as well, or `all`
            to train the whole encoder as well.
        fs: sampling rate of the records in Hz, required by `fit`.
        leads: names of the records' leads, in their order.
        steps: maximum number of fine-tuning steps. Unused if only the head is trained, as are the next four
            arguments.
        batch_size: records per step.
        lr: peak learning rate of the pool, the layer between the encoder's blocks and the head. The head's
            learning rate is a tenth of it.
        decay: ratio of a block's learning rate to the learning rate of the next block.
        patience: number of steps without improvement on the held-out records, after which training stops.
        balanced: give the positives of a class the same total weight as its negatives.
        readout: features that the encoder gives to the head (`marecg.model.readout`). `wide` works with all
            `layers` and can be exported. `beats` and `full` need `layers="head"`. With `layers="head"`,
            `best` takes a readout longer than `wide` if it lowers the log loss on the held-out records by
            more than a standard error. With other layers, `best` is `wide`.
        calibration: `best`, `temperature`, `isotonic` or `none`; see `calibration.calibrate`.
        threshold: rule for choosing thresholds; see `calibration.threshold`.
        seed: seed for the choice of held-out records, the order of training records, and the part of a long
            record that a step reads.

    Attributes:
        classes_: the K labels. After `fit`, they are sorted, or 0 … K − 1 if the labels were a table [B, K].
            After `fit_rows`, they are its argument `classes`.
        several_: whether a record may have several classes.
        tuned_: fitted network, `tuning.Tuned`.
        step_: training step after which this network was kept; 0 if only the head was fitted.
        readout_: readout of the head.
        losses_: log loss on the held-out records for each readout that was tried.
        calibrations_: calibration of each class.
        thresholds_: float64 [K], lowest probability at which each class is reported as present.

    Example:
        >>> from marecg import EcgClassifier
        >>> classifier = EcgClassifier("run", layers="last:2", fs=500)
        >>> classifier.fit(signals, labels).predict_proba(new)  # doctest: +SKIP
    """

    def __init__(
        self,
        model: MarEcg | str | Path,
        layers: str = "head",
        *,
        fs: float | None = None,
        leads: Sequence[str] = LEADS,
        steps: int = 1500,
        batch_size: int = 32,
        lr: float = 1e-3,
        decay: float = 0.75,
        patience: int = 300,
        balanced: bool = False,
        readout: Reads = "wide",
        calibration: Method = "best",
        threshold: str = "youden",
        seed: int = 0,
    ) -> None:
        self.model, self.layers, self.fs, self.leads = model, layers, fs, leads
        self.steps, self.batch_size, self.lr, self.decay = steps, batch_size, lr, decay
        self.patience, self.balanced, self.readout = patience, balanced, readout
        self.calibration, self.threshold, self.seed = calibration, threshold, seed

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Train the classifier and return it.

        Args:
            X: signals in mV, [B, leads, L].
            y: a label per record, with at least two different labels; or a table [B, K] of 0, 1, and NaN for
                unknown.
            groups: patient of each record. Either all records of a patient are held out, or none. If None,
                each record counts as another patient.

        Raises:
            UsageError: the records, the labels or a parameter are invalid.
            CheckpointError: the model can't be loaded.
        """
        self.tuning()
        required_rate(self.fs)
        model = loaded(self.model)
        ecgs = self._recordings(X, model)
        y_BK, classes, several = targets_of(y, len(ecgs))
        split = GroupShuffleSplit(1, test_size=HELD_OUT, random_state=self.seed)
        train, val = next(split.split(ecgs, groups=np.arange(len(ecgs)) if groups is None else groups))
        vectors = Vectors(model, ecgs.__getitem__, self.readouts()[-1])
        return self.fit_rows(vectors, y_BK, train.tolist(), val.tolist(), classes, several=several)

    @np.errstate(under="ignore")
    def fit_rows(
        self,
        vectors: Vectors,
        y_BK: NDArray[np.floating],
        train: Sequence[int],
        val: Sequence[int],
        classes: NDArray[Any],
        *,
        several: bool = True,
    ) -> Self:
        """Train the classifier on records that are fetched one by one, and return it.

        Args:
            vectors: object that reads a record by its row number in `y_BK`, and returns its features from the
                frozen encoder. Its readout is the longest of `readouts`.
            y_BK: labels of all records: 0, 1, or NaN if unknown.
            train: row numbers of the records to train on.
            val: row numbers of the records for early stopping, calibration and thresholds.
            classes: the K labels.
            several: whether a record may have several classes.
        """
        fitted: dict[tuple[int, int, bytes], Logistic] = {}
        tried = {
            readout: tune(self.tuning(), vectors.narrowed(readout), y_BK[[*train, *val]], train, val, fitted)
            for readout in self.readouts()
        }
        self.losses_: dict[str, float] = {readout: tuned.loss for readout, tuned in tried.items()}
        self.readout_ = _shortest_as_good(tried)
        self.tuned_ = tried[self.readout_]
        self.step_, self.classes_, self.several_ = self.tuned_.step, classes, several
        val_BK = self.tuned_.logits(vectors, val) if self.tuned_.val_MK is None else self.tuned_.val_MK
        expected_K = expected_shifts(y_BK[train], self.balanced)
        self.calibrations_ = self._calibrated(val_BK, y_BK[val], expected_K)
        self._keep_constant(y_BK[[*train, *val]])
        self.thresholds_ = self._cut(val_BK, y_BK[val])
        return self

    def tuning(self) -> Tuning:
        """Return the training settings. Raises `UsageError` for an invalid value."""
        check_rule(self.threshold)
        names = ("layers", "steps", "batch_size", "lr", "decay", "patience", "balanced", "seed")
        return Tuning(**{name: getattr(self, name) for name in names}, readout=self.readouts()[-1])

    def readouts(self) -> tuple[Readout, ...]:
        """Return the readouts to try for the head, from the shortest to the longest."""
        if self.readout != "best":
            return (self.readout,)
        return HEADS if self.layers == "head" else ("wide",)

    def _calibrated(
        self, logits_BK: Floats, y_BK: NDArray[np.floating], expected_K: Floats
    ) -> list[Calibration]:
        """Fit a calibration for each class on the records with a known label."""
        curves = []
        for logit_B, y_B, expected in zip(logits_BK.T, y_BK.T, expected_K.tolist(), strict=True):
            known_B = np.isfinite(y_B)
            curves.append(calibrate(logit_B[known_B], y_B[known_B], self.calibration, expected))
        return curves

    def _keep_constant(self, y_BK: NDArray[np.floating]) -> None:
        """Predict a constant, and log a warning, for each class that all records or no records have."""
        for column, y_B in enumerate(y_BK.T):
            known_B = y_B[np.isfinite(y_B)]
            if len(known_B) and np.ptp(known_B) == 0:
                value = float(known_B[0])
                name = self.classes_[column]
                reason = f"every record has class {name}" if value else f"no record has class {name}"
                warnings.warn(f"{reason}, so its probability is always {value:g}", stacklevel=4)
                self.calibrations_[column] = Calibration(kind="isotonic", knots=(0, 1), values=(value, value))

    def _cut(self, logits_BK: Floats, y_BK: NDArray[np.floating]) -> Floats:
        """Choose the threshold of each class, [K], on its calibrated probabilities."""
        cuts = []
        for logit_B, y_B, curve in zip(logits_BK.T, y_BK.T, self.calibrations_, strict=True):
            known_B = np.isfinite(y_B)
            cuts.append(threshold(self.threshold, y_B[known_B], curve(logit_B[known_B])))
        return np.array(cuts)

    @np.errstate(under="ignore")
    def probabilities(self, logits_BK: Floats) -> Floats:
        """Return the calibrated probabilities [B, K] of logits.

        Args:
            logits_BK: logits as returned by `logits_of`.
        """
        p_BK = np.stack([curve(z_B) for curve, z_B in zip(self.calibrations_, logits_BK.T, strict=True)], 1)
        return p_BK if self.several_ else p_BK / p_BK.sum(1, keepdims=True).clip(1e-12)

    def predict_recordings(self, recordings: Sequence[Recording]) -> Floats:
        """Return the probabilities [B, K] of recordings.

        Args:
            recordings: B recordings with any leads (`model.windows.recording`).
        """
        return self.probabilities(self.logits_of(recordings))

    @np.errstate(under="ignore")
    def logits_of(self, recordings: Sequence[Recording]) -> Floats:
        """Return the logits [B, K] of recordings, before calibration.

        Args:
            recordings: B recordings with any leads (`model.windows.recording`).
        """
        check_is_fitted(self, "classes_")
        vectors = Vectors(self.encoder, recordings.__getitem__, self.readout_)
        return self.tuned_.net.logits(vectors(range(len(recordings))))

    def calls(self, p_BK: Floats) -> NDArray[np.bool_]:
        """Return which classes are reported as present, bool [B, K].

        If a record may have several classes, they are the classes whose probability reaches their threshold.
        Otherwise, only the class with the highest probability is reported.

        Args:
            p_BK: probabilities as returned by `probabilities`.
        """
        return called_classes(p_BK, self.thresholds_, several=self.several_)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return probabilities, float64 [B, K], in the order of `classes_`.

        Rows sum to 1 if a record has exactly one class (`several_` is False).

        Args:
            X: signals in mV, [B, leads, L].
        """
        check_is_fitted(self, "classes_")
        return self.predict_recordings(self._recordings(X, self.encoder))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable label of each record, [B].

        If a record may have several classes (`several_`), return 1 for each class that is reported as present
        (`calls`) and 0 for other classes, [B, K].

        Args:
            X: signals in mV, [B, leads, L].
        """
        p_BK = self.predict_proba(X)
        if self.several_:
            return self.calls(p_BK).astype(np.int64)
        labels: NDArray[Any] = self.classes_[p_BK.argmax(1)]
        return labels

    @property
    def encoder(self) -> MarEcg:
        """Return the encoder, which is fine-tuned unless `layers` is `head`."""
        return self.tuned_.net.model

    def save(self, folder: str | Path) -> None:
        """Save the classifier: the fine-tuned model under `model/`, the head, and the labels.

        Args:
            folder: a new folder, or a folder that holds a classifier, which is replaced.

        Raises:
            UsageError: the folder holds other files, or the labels are neither strings nor integers.
            OutputError: the folder can't be written.
        """
        refuse_others(Path(folder), FILES.__contains__, mark=MARK)
        with replacing(Path(folder)) as temporary:
            self.write(temporary)

    def write(self, folder: Path) -> None:
        """Write the classifier's files into an existing folder. `save` replaces a whole folder instead."""
        check_is_fitted(self, "classes_")
        labels = self.classes_.tolist()
        label_types = {type(label) for label in labels}
        if label_types not in ({int}, {str}):
            names = ", ".join(sorted(label_type.__name__ for label_type in label_types))
            problem = f"to be saved, a classifier must have labels that are strings or integers, got {names}"
            raise UsageError(problem, remedy="Fit it with such labels")
        description = Description(
            classes=labels,
            several=self.several_,
            fs=required_rate(self.fs),
            leads=list(self.leads),
            layers=self.layers,
            readout=self.readout_,
            step=self.step_,
            rule=self.threshold,
            calibrations=self.calibrations_,
            thresholds=self.thresholds_.tolist(),
        )
        write_folder(folder, description, self.tuned_.net)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Load a classifier written by `save`.

        Args:
            folder: folder of the classifier.

        Raises:
            CheckpointError: the classifier is missing or damaged.
        """
        saved, net = read_folder(Path(folder))
        same = {name: getattr(saved, name) for name in ("layers", "fs", "leads", "readout")}
        self = cls(Path(folder) / "model", **same, threshold=saved.rule)
        self.tuned_ = Tuned(net.to(best_device()).eval(), saved.step, np.nan, saved.layers == "head")
        self.classes_, self.several_, self.step_ = np.array(saved.classes), saved.several, saved.step
        self.readout_, self.losses_ = saved.readout, {}
        self.calibrations_, self.thresholds_ = saved.calibrations, np.array(saved.thresholds)
        return self

    def _recordings(self, X: ArrayLike, model: MarEcg) -> list[Recording]:
        x_BKL = records(X, self.leads)
        return [arranged(x_KL, self.fs, self.leads, model.config) for x_KL in x_BKL]


def _shortest_as_good(tried: Mapping[Readout, Tuned]) -> Readout:
    """Return the shortest readout, unless a longer readout lowers the loss by more than a standard error.

    The shortest readout is `wide`. Only classifiers with this readout can be exported.
    """
    chosen, *longer = tried
    for readout in longer:
        gain_M = np.asarray(tried[chosen].loss_M) - np.asarray(tried[readout].loss_M)
        if gain_M.mean() > gain_M.std() / np.sqrt(len(gain_M)):
            chosen = readout
    return chosen
