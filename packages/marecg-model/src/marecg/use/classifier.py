"""A fine-tuned classifier in scikit-learn's manner, kept as safetensors and JSON.

Shapes: B records, K classes, L samples.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from ecg_ontology import refuse_others, replacing
from marecg.config import LEADS
from marecg.ecg.signal import lead_places
from marecg.ecg.windows import Recording, arranged
from marecg.errors import CheckpointError, UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.use.embed import best_device, loaded, records
from marecg.use.tuning import Classifier, Tuning, logits, tune

FILES = {"classifier.json", "head.safetensors", "model"}
HELD_OUT = 0.2
"""Share of the records that decides when to stop."""


class _Kept(BaseModel):
    """What classifier.json says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = 1
    classes: list[str] | list[int]
    several: bool
    fs: float
    leads: list[str]
    layers: str
    epoch: int


class EcgClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fine-tune an encoder on labelled ECGs: a new head alone, its last blocks too, or all of it.

    A fifth of the records, drawn by the seed, is not trained on and decides which epoch is kept.

    Args:
        model: a `MarEcg`, a run, a model folder, or the id of a model on the Hugging Face hub; left as it is.
        layers: `head` alone, `last:N` for the last N blocks too, or `all`; see `marecg.use.tuning.Tuning`.
        fs: sampling rate of the records in Hz.
        leads: the names of their leads, in their order.
        epochs: at most.
        batch_size: records per step.
        lr: peak learning rate of the head.
        decay: a block's learning rate over that of the block above it.
        patience: epochs without a gain on the records held out, after which training stops.
        seed: of the head, the records held out, their order and the windows that are read.

    Attributes:
        classes_: the labels, sorted; 0 … K − 1 where labels came as a table [B, K].
        epoch_: the epoch that was kept.

    Example:
        >>> from marecg import EcgClassifier
        >>> EcgClassifier("run", layers="last:2").fit(signals, labels).predict_proba(new)  # doctest: +SKIP
    """

    def __init__(
        self,
        model: MarEcg | str | Path,
        layers: str = "head",
        *,
        fs: float = 500,
        leads: Sequence[str] = LEADS,
        epochs: int = 30,
        batch_size: int = 32,
        lr: float = 1e-3,
        decay: float = 0.75,
        patience: int = 5,
        seed: int = 0,
    ) -> None:
        self.model = model
        self.layers = layers
        self.fs = fs
        self.leads = leads
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.decay = decay
        self.patience = patience
        self.seed = seed

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train.

        Args:
            X: mV, [B, leads, L].
            y: one label per record, of two or more kinds; or a table [B, K] of 0 and 1.

        Raises:
            UsageError: the records, the labels or a value can't be.
            CheckpointError: the model can't be loaded.
        """
        how = Tuning(
            layers=self.layers,
            epochs=self.epochs,
            batch_size=self.batch_size,
            lr=self.lr,
            decay=self.decay,
            patience=self.patience,
            seed=self.seed,
        )
        model = loaded(self.model)
        held = self._recordings(X, model)
        target_B, classes, several = _targets(y, len(held))
        order = np.random.default_rng(self.seed).permutation(len(held))
        val, train = np.split(order, [max(1, round(HELD_OUT * len(held)))])
        loss = binary_cross_entropy_with_logits if several else cross_entropy
        outputs = target_B.shape[1] if several else len(classes)

        def score(net: Classifier) -> float:
            found = torch.from_numpy(logits(net, held.__getitem__, val.tolist(), self.batch_size))
            wanted = target_B[val].to(found.dtype) if several else target_B[val]
            return -float(loss(found, wanted))

        tuned = tune(model, outputs, how, held.__getitem__, train.tolist(), target_B[train], loss, score)
        if not np.isfinite(tuned.score):
            raise UsageError("training gave no finite loss", remedy="Lower lr, or look at the records")
        self._net, self.epoch_, self.classes_, self._several = tuned.net.eval(), tuned.epoch, classes, several
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities float64 [B, K], as `classes_` stand; rows sum to 1 unless labels were a table."""
        check_is_fitted(self, "classes_")
        held = self._recordings(X, self._net.model)
        logits_BK = logits(self._net, held.__getitem__, range(len(held)), self.batch_size)
        found: NDArray[np.float64] = expit(logits_BK) if self._several else softmax(logits_BK, axis=1)
        return found

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The likeliest label of each record [B]; or the table [B, K] of what is likelier than not."""
        probability_BK = self.predict_proba(X)
        if self._several:
            return (probability_BK > 0.5).astype(np.int64)
        labels: NDArray[Any] = self.classes_[probability_BK.argmax(1)]
        return labels

    def save(self, folder: str | Path) -> None:
        """Keep the classifier: the fine-tuned model under `model/`, the head, and what the labels are.

        Raises:
            UsageError: the folder holds other files, or the labels are neither words nor whole numbers.
            OutputError: it can't be written.
        """
        check_is_fitted(self, "classes_")
        folder, labels = Path(folder), self.classes_.tolist()
        if not (all(type(one) is int for one in labels) or all(type(one) is str for one in labels)):
            raise UsageError("labels are neither words nor whole numbers", remedy="Fit with other labels")
        refuse_others(folder, FILES.__contains__, mark="classifier.json")
        kept = _Kept(
            classes=labels,
            several=self._several,
            fs=self.fs,
            leads=list(self.leads),
            layers=self.layers,
            epoch=self.epoch_,
        )
        head = {
            name: value for name, value in self._net.state_dict().items() if not name.startswith("model.")
        }
        with replacing(folder) as temporary:
            temporary.mkdir(exist_ok=True)
            self._net.model.save_pretrained(temporary / "model")
            save_file(head, temporary / "head.safetensors")
            (temporary / "classifier.json").write_text(kept.model_dump_json(indent=2), encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """A classifier that `save` kept.

        Raises:
            CheckpointError: it is missing or damaged.
        """
        folder = Path(folder)
        try:
            kept = _Kept.model_validate_json((folder / "classifier.json").read_bytes())
            head = load_file(folder / "head.safetensors")
        except (OSError, ValidationError, SafetensorError) as error:
            raise CheckpointError(
                f"is no classifier ({str(error).splitlines()[0]})",
                where=folder,
                remedy="Name a folder that EcgClassifier.save wrote",
            ) from error
        self = cls(folder / "model", kept.layers, fs=kept.fs, leads=kept.leads)
        net = Classifier(MarEcg.from_pretrained(folder / "model").to(best_device()), len(kept.classes))
        tensors = {**{f"model.{name}": value for name, value in net.model.state_dict().items()}, **head}
        try:
            net.load_state_dict(tensors)
        except RuntimeError as error:
            raise CheckpointError("head.safetensors does not fit the model", where=folder) from error
        self._net, self.epoch_ = net.to(best_device()).eval(), kept.epoch
        self.classes_, self._several = np.array(kept.classes), kept.several
        return self

    def _recordings(self, X: ArrayLike, model: MarEcg) -> list[Recording]:
        x_BKL = records(X, lead_places(self.leads))
        return [arranged(x_KL, self.fs, self.leads, model.config) for x_KL in x_BKL]


def _targets(y: ArrayLike, records_: int) -> tuple[torch.Tensor, NDArray[Any], bool]:
    """Targets, classes, and whether a record may have several of them."""
    try:
        labels = np.asarray(y)
    except ValueError as error:
        raise UsageError(
            "labels have rows of several lengths", remedy="Give a table [records, classes]"
        ) from error
    given = len(labels) if labels.ndim else 0
    if given != records_:
        raise UsageError(f"there are {given} labels for {records_} records", remedy="Give one each")
    if records_ < 2:
        raise UsageError("one record is no training", remedy="Give two at least: one decides when to stop")
    if labels.ndim == 2:
        if not labels.shape[1]:
            raise UsageError("a table of labels has no classes", remedy="Give a column for each")
        if not np.isin(labels, (0, 1)).all():
            raise UsageError(
                "a table of labels holds more than 0 and 1", remedy="Give 1 where a class applies"
            )
        return torch.from_numpy(labels.astype(np.float32)), np.arange(labels.shape[1]), True
    if labels.ndim != 1 or labels.dtype.kind == "f":
        raise UsageError(f"labels have shape {labels.shape} and type {labels.dtype}", remedy="Give classes")
    try:
        classes, place_B = np.unique(labels, return_inverse=True)
    except TypeError as error:  # None among words
        raise UsageError("labels are of several kinds", remedy="Give words, or whole numbers") from error
    if len(classes) < 2:
        raise UsageError("all records have one label", remedy="Give records of two classes at least")
    return torch.from_numpy(place_B.astype(np.int64)), classes, False
