"""Fine-tuned, calibrated classifier with scikit-learn's interface, saved as safetensors and JSON.

Shapes: B records, M records of validation, K classes, L samples.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GroupShuffleSplit
from sklearn.utils.validation import check_is_fitted

from ecg_base import refuse_others, replacing
from ecg_records.signal.leads import LEADS, lead_places
from marecg.base.device import best_device
from marecg.classify.calibration import Calibration, Method, calibrate, called_classes, check_rule, threshold
from marecg.classify.classifier_folder import FILES, MARK, Description, read_folder, write_folder
from marecg.classify.labels import targets_of
from marecg.classify.logistic import expected_shifts
from marecg.classify.tuning import HEADS, Floats, Tuned, Tuning, Vectors, tune
from marecg.embedding.embed import loaded, records
from marecg.errors import UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.model.readout import Readout
from marecg.model.window_encoder import WindowEncoder
from marecg.model.windows import Recording, arranged, required_rate

Reads = Literal[Readout, "best"]
"""What a head reads; `best` is what has the least log loss on the records held out."""
HELD_OUT = 0.2
"""Share of the records that decides when to stop, and calibrates."""


class EcgClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier of labelled ECGs: a new head, with frozen, partly or fully trained encoder.

    A fifth of the records, drawn by the seed, is not trained on: it decides when to stop, calibrates each
    class's probability, and chooses the threshold from which on a class is called.

    Args:
        model: a `MarEcg`, a run, a model folder, or the id of a model on the Hugging Face hub; left as it is.
        layers: `head` alone, `last:N` for the last N blocks too, or `all`; see `tuning.Tuning`.
        fs: sampling rate of the records in Hz, which `fit` refuses to guess.
        leads: the names of their leads, in their order.
        steps: of fine-tuning at most.
        batch_size: records per step.
        lr: peak learning rate of the pool; the head's is a tenth of it.
        decay: a block's learning rate over that of the block above it.
        patience: steps without a gain on the records held out, after which training stops.
        balanced: weigh a class's positives and negatives so that both count as much.
        readout: what the head reads: `wide`, or by the head alone `beats`, `full`, or `best`: whichever of
            them has the least log loss on the records held out; see `marecg.model.readout`.
        calibration: `best`, `temperature`, `isotonic` or `none`; see `calibration.calibrate`.
        threshold: the rule; see `calibration.threshold`.
        seed: of the records held out, their order and the windows that are read.

    Attributes:
        classes_: the labels, sorted; 0 … K − 1 where labels came as a table [B, K].
        several_: whether a record may have several of them.
        tuned_: the network, from windows to logits, as it was kept.
        step_: the step that was kept; 0 is the head on the frozen encoder.
        readout_: what the head reads.
        losses_: by readout that was tried, the log loss on the records held out.
        calibrations_: one for each class.
        thresholds_: float64 [K], the probability from which on each class is called.

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
        """Return the classifier after training it.

        Args:
            X: mV, [B, leads, L].
            y: one label per record, of two or more kinds; or a table [B, K] of 0, 1 and NaN for unknown.
            groups: B patients, of whom none is on both sides; each record is one of its own if None.

        Raises:
            UsageError: the records, the labels or a value can't be.
            CheckpointError: the model can't be loaded.
        """
        self.tuning()
        required_rate(self.fs)
        model = loaded(self.model, MarEcg)
        ecgs = self._recordings(X, model)
        y_BK, classes, several = targets_of(y, len(ecgs))
        split = GroupShuffleSplit(1, test_size=HELD_OUT, random_state=self.seed)
        train, val = next(split.split(ecgs, groups=np.arange(len(ecgs)) if groups is None else groups))
        vectors = Vectors(model, ecgs.__getitem__, self.readouts()[-1])
        return self.fit_rows(vectors, y_BK, train.tolist(), val.tolist(), classes, several=several)

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
        """Return the classifier after training it on records that are fetched one by one.

        Args:
            vectors: of the frozen encoder, the last of `readouts`; they fetch the records too.
            y_BK: 0, 1, or NaN where nobody knows, of every record.
            train: the numbers of those that it is trained on.
            val: of those that stop, calibrate and choose thresholds.
            classes: the K labels.
            several: whether a record may have several of them.
        """
        tried = {
            readout: tune(self.tuning(), vectors.narrowed(readout), y_BK[[*train, *val]], train, val)
            for readout in self.readouts()
        }
        self.losses_: dict[str, float] = {readout: tuned.loss for readout, tuned in tried.items()}
        self.readout_ = min(tried, key=self.losses_.__getitem__)
        self.tuned_ = tried[self.readout_]
        self.step_, self.classes_, self.several_ = self.tuned_.step, classes, several
        val_BK = self.tuned_.logits(vectors, val) if self.tuned_.val_MK is None else self.tuned_.val_MK
        expected_K = expected_shifts(y_BK[train], self.balanced)
        self.calibrations_ = self._calibrated(val_BK, y_BK[val], expected_K)
        self._keep_constant(y_BK[[*train, *val]])
        self.thresholds_ = self._cut(val_BK, y_BK[val])
        return self

    def tuning(self) -> Tuning:
        """Return the settings of the training. Raises `UsageError` for an impossible value."""
        check_rule(self.threshold)
        names = ("layers", "steps", "batch_size", "lr", "decay", "patience", "balanced", "seed")
        return Tuning(**{name: getattr(self, name) for name in names}, readout=self.readouts()[-1])

    def readouts(self) -> tuple[Readout, ...]:
        """Return the readouts on which the head is tried, each a beginning of the next."""
        if self.readout != "best":
            return (self.readout,)
        return HEADS if self.layers == "head" else HEADS[:1]

    def _calibrated(
        self, logits_BK: Floats, y_BK: NDArray[np.floating], expected_K: Floats
    ) -> list[Calibration]:
        """Fit a calibration for each class, on the records whose label is known."""
        curves = []
        for logit_B, y_B, expected in zip(logits_BK.T, y_BK.T, expected_K.tolist(), strict=True):
            known_B = np.isfinite(y_B)
            curves.append(calibrate(logit_B[known_B], y_B[known_B], self.calibration, expected))
        return curves

    def _keep_constant(self, y_BK: NDArray[np.floating]) -> None:
        """Predict a class that all records have, or none has, always so: nothing tells it apart."""
        for place, y_B in enumerate(y_BK.T):
            known_B = y_B[np.isfinite(y_B)]
            if len(known_B) and np.ptp(known_B) == 0:
                value = float(known_B[0])
                who = "every record has" if value else "no record has"
                warnings.warn(
                    f"{who} class {self.classes_[place]}, so this is always predicted", stacklevel=4
                )
                self.calibrations_[place] = Calibration(kind="isotonic", knots=(0, 1), values=(value, value))

    def _cut(self, logits_BK: Floats, y_BK: NDArray[np.floating]) -> Floats:
        """Choose each class's threshold [K] on its calibrated probabilities, by the rule."""
        cuts = []
        for logit_B, y_B, curve in zip(logits_BK.T, y_BK.T, self.calibrations_, strict=True):
            known_B = np.isfinite(y_B)
            cuts.append(threshold(self.threshold, y_B[known_B], curve(logit_B[known_B])))
        return np.array(cuts)

    def probabilities(self, logits_BK: Floats) -> Floats:
        """Return calibrated probabilities [B, K].

        Args:
            logits_BK: as `tuned_.logits` gives them.
        """
        p_BK = np.stack([curve(z_B) for curve, z_B in zip(self.calibrations_, logits_BK.T, strict=True)], 1)
        return p_BK if self.several_ else p_BK / p_BK.sum(1, keepdims=True).clip(1e-12)

    def predict_recordings(self, recordings: Sequence[Recording]) -> Floats:
        """Return probabilities [B, K].

        Args:
            recordings: B of any leads (`model.windows.recording`).
        """
        return self.probabilities(self.logits_of(recordings))

    def logits_of(self, recordings: Sequence[Recording]) -> Floats:
        """Return logits [B, K], before calibration.

        Args:
            recordings: B of any leads (`model.windows.recording`).
        """
        check_is_fitted(self, "classes_")
        vectors = Vectors(self.encoder, recordings.__getitem__, self.readout_)
        return self.tuned_.net.logits(vectors(range(len(recordings))))

    def calls(self, p_BK: Floats) -> NDArray[np.bool_]:
        """Return the called classes, bool [B, K]: those that reach their thresholds, or the likeliest one.

        Args:
            p_BK: as `probabilities` gives them.
        """
        return called_classes(p_BK, self.thresholds_, several=self.several_)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return probabilities float64 [B, K], as `classes_` stand; rows sum to 1 unless labels were a table.

        Args:
            X: mV, [B, leads, L].
        """
        check_is_fitted(self, "classes_")
        return self.predict_recordings(self._recordings(X, self.encoder))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return each record's likeliest label, [B], or with several labels per record the calls, [B, K].

        Args:
            X: mV, [B, leads, L].
        """
        p_BK = self.predict_proba(X)
        if self.several_:
            return self.calls(p_BK).astype(np.int64)
        labels: NDArray[Any] = self.classes_[p_BK.argmax(1)]
        return labels

    @property
    def encoder(self) -> MarEcg:
        """Fine-tuned encoder."""
        return self.tuned_.net.model

    def save(self, folder: str | Path) -> None:
        """Save the classifier: the fine-tuned model under `model/`, the head, and the labels.

        Args:
            folder: new, or one that holds a classifier.

        Raises:
            UsageError: the folder holds other files, or the labels are neither words nor whole numbers.
            OutputError: it can't be written.
        """
        refuse_others(Path(folder), FILES.__contains__, mark=MARK)
        with replacing(Path(folder)) as temporary:
            self.write(temporary)

    def write(self, folder: Path) -> None:
        """Write the classifier's files into an existing folder.

        Args:
            folder: a temporary one, that is being made.
        """
        check_is_fitted(self, "classes_")
        labels = self.classes_.tolist()
        if not (all(type(one) is int for one in labels) or all(type(one) is str for one in labels)):
            raise UsageError("labels are neither words nor whole numbers", remedy="Fit with other labels")
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
        """Return a classifier that `save` wrote.

        Args:
            folder: where it is.

        Raises:
            CheckpointError: it is missing or damaged.
        """
        saved, net = read_folder(Path(folder))
        same = {name: getattr(saved, name) for name in ("layers", "fs", "leads", "readout")}
        self = cls(Path(folder) / "model", **same, threshold=saved.rule)
        self.tuned_ = Tuned(net.to(best_device()).eval(), saved.step, np.nan, saved.layers == "head")
        self.classes_, self.several_, self.step_ = np.array(saved.classes), saved.several, saved.step
        self.readout_, self.losses_ = saved.readout, {}
        self.calibrations_, self.thresholds_ = saved.calibrations, np.array(saved.thresholds)
        return self

    def _recordings(self, X: ArrayLike, model: WindowEncoder) -> list[Recording]:
        x_BKL = records(X, lead_places(self.leads))
        return [arranged(x_KL, self.fs, self.leads, model.config) for x_KL in x_BKL]
