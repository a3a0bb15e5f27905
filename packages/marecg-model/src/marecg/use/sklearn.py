"""Frozen encoder as a step of a scikit-learn pipeline.

A readout is a set of features that are computed from the encoder's output (`marecg.model.readout`). The
shortest is h_rhythm, the pooled vector of a record.

Shapes: B records, K leads, L samples, D width, W wide readout, V wide and beat readout.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ecg_records.signal.leads import LEADS, lead_places
from marecg.embedding.embed import PASS_WINDOWS, check_readout, embed, loaded, unframed
from marecg.errors import UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.model.readout import Readout, readout_width
from marecg.model.windows import required_rate

ONE_RECORD_S = 5
"""Duration in seconds by which a single record, passed by mistake as a 2-D array [K, L], is detected.

Each row of a 2-D array should be a whole record: K leads, one after the other. A 2-D array with K rows is
refused if a row is at least this long as a single lead, but shorter per lead as a record of K leads.
"""


class EcgEmbedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Transform ECGs to vectors with a frozen encoder. `fit` learns nothing.

    Args:
        model: a `MarEcg`, a run, a model folder, the name of an installed model, or the id (owner/name) of a
            model on the Hugging Face hub. A model given by name is loaded when it is needed, and clones and
            pickles hold only the name.
        fs: sampling rate of the records in Hz, required by `fit`.
        leads: names of the records' K leads, in their order.
        batch_size: windows per forward pass.
        readout: `rhythm` for h_rhythm [B, D], `wide` for the wide readout [B, W], which begins with h_rhythm,
            `beats` for the wide and the beat readout [B, V], and `full` for all features, which include
            measurements such as intervals.

    Attributes:
        n_features_in_: K for records [B, K, L], K·L for flattened records [B, K·L].

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> make_pipeline(EcgEmbedder("run", fs=500), LogisticRegression()).fit(x, y)  # doctest: +SKIP
    """

    def __init__(
        self,
        model: MarEcg | str | Path,
        *,
        fs: float | None = None,
        leads: Sequence[str] = LEADS,
        batch_size: int = PASS_WINDOWS,
        readout: Readout = "rhythm",
    ) -> None:
        self.model = model
        self.fs = fs
        self.leads = leads
        self.batch_size = batch_size
        self.readout = readout

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Load the encoder and store the shape of the records.

        Args:
            X: signals in mV, [B, K, L] or flattened to [B, K·L], lead after lead.
            y: ignored.

        Returns:
            The embedder itself.

        Raises:
            UsageError: the records don't have the leads `leads`, the readout is unknown, or `fs` is None.
            CheckpointError: the encoder can't be loaded.
        """
        self._records(X, reset=True)
        check_readout(self.readout)
        required_rate(self.fs)
        config = self._encoder().config
        self._n_features_out = readout_width(config, self.readout)
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return the readout of each record, float32 with a row per record. Raises the errors of `embed`.

        Args:
            X: signals in mV, in the same shape as for `fit`.
        """
        check_is_fitted(self, "n_features_in_")
        x_BKL = self._records(X, reset=False)
        embeddings = embed(
            self._encoder(),
            x_BKL,
            fs=required_rate(self.fs),
            leads=self.leads,
            batch_size=self.batch_size,
            readout="wide" if self.readout == "rhythm" else self.readout,
        )
        return embeddings.rhythm if self.readout == "rhythm" else embeddings.wide

    def _records(self, X: ArrayLike, *, reset: bool) -> NDArray[np.float32]:
        x = validate_data(self, unframed(X, self.leads), dtype=np.float32, allow_nd=True, reset=reset)
        leads = len(lead_places(self.leads))
        if (
            x.ndim == 2
            and 1 < leads == len(x)
            and self.fs
            and x.shape[1] / leads < ONE_RECORD_S * self.fs <= x.shape[1]
        ):
            problem = f"signals must be a batch of records, got one record: shape {x.shape} for {leads} leads"
            raise UsageError(problem, remedy="Give an array [records, leads, samples], here signals[None]")
        if x.ndim == 2 and x.shape[1] % leads == 0:
            return x.reshape(len(x), leads, -1)  # type: ignore[no-any-return]
        if x.ndim == 2:
            raise UsageError(
                f"the length of flattened records must be a multiple of {leads} leads, got {x.shape[1]}",
                remedy="Flatten arrays [leads, samples] lead after lead, or correct leads",
            )
        return x  # type: ignore[no-any-return]

    def _encoder(self) -> MarEcg:
        """Return the encoder of `model`. It is loaded again only if `model` has changed."""
        name, encoder = getattr(self, "_loaded", (None, None))
        if encoder is None or (name is not self.model and name != self.model):
            encoder = loaded(self.model)
            self._loaded = (self.model, encoder)
        return encoder

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the weights."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_loaded"}

    def __sklearn_tags__(self) -> Tags:
        """Return the tags for scikit-learn: inputs may be three-dimensional, outputs are float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
