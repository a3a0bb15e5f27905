"""Networks for exported files: an encoder of windows, or a classifier of whole records.

The classifier's network cuts the same windows as `marecg.model.windows.tta_windows`, averages their logits,
calibrates the averages and calls (assigns) classes. So it returns the same probabilities as
`EcgClassifier.predict_recordings`.

Shapes: B records, C leads, L samples, T patches, D width, K classes, N knots of a calibration, U windows of
all records.
"""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import Dim

from ecg_records.signal.leads import LEADS
from marecg.classify.classifier import EcgClassifier
from marecg.embedding.embed import encode
from marecg.errors import UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.model.windows import Recording, cut

Inputs = tuple[Tensor, Tensor, Tensor]
"""Inputs of a file: signals in mV, number of samples before the padding, and whether each lead is absent.

Shapes and types: [B, C, L], int64 [B], bool [B, C].
"""
Outputs = tuple[Tensor, ...]
BATCHES = (1, 2, 5)
"""Batch sizes of the random inputs (trials) on which a file is compared with its network."""


class ExportedEncoder(nn.Module):
    """Encoder of windows, whose arguments and results are plain tensors.

    The results are h_rhythm, the pooled vector of a window, and H̄, the vector of each patch, averaged over
    leads. As in `embed`, h_rhythm is the mean over several starts within the window (`ModelConfig.phases`).
    """

    outputs: tuple[str, ...] = ("rhythm", "patch")

    def __init__(self, model: MarEcg) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, n_valid: Tensor, absent: Tensor) -> Outputs:
        """Return h_rhythm [B, D] and the patch vectors H̄ [B, T, D]. `Inputs` explains the arguments."""
        features = self.model.of_windows(x, n_valid, absent)
        rhythm, config = features.rhythm, self.model.config
        for phase in range(1, config.phases):
            by = phase * config.stride // config.phases
            later = (n_valid - by >= config.patch)[:, None, None]  # shorter windows are read from their start
            x_BCL = torch.where(later, nn.functional.pad(x[..., by:], (0, by)), x)
            n_valid_B = torch.where(later[:, 0, 0], n_valid - by, n_valid)
            rhythm = rhythm + self.model.of_windows(x_BCL, n_valid_B, absent).rhythm
        return rhythm / config.phases, features.patch

    def reference(self, inputs: Inputs) -> Outputs:
        """Return the results that the file must reproduce: h_rhythm as from `embed`, and H̄."""
        patch = self.model.of_windows(*inputs).patch
        rhythms = [vectors.rhythm for vectors in encode(self.model, _recordings(inputs), patches=False)]
        return torch.from_numpy(np.stack(rhythms)), patch

    def error(self, expected: Outputs, results: Outputs) -> float:
        """Return the largest difference between a file's results and `reference`."""
        return max(float((a - b).abs().max()) for a, b in zip(expected, results, strict=True))

    def about(self) -> dict[str, str]:
        """Return metadata of the file beyond the description of the encoder. It is empty for an encoder."""
        return {}

    def example(self) -> tuple[Inputs, tuple[dict[int, Any], ...]]:
        """Return example inputs for tracing, and the axes of each input whose size may vary: the records."""
        context, records = self.model.config.context, Dim("records", min=1)
        inputs = (torch.zeros(2, len(LEADS), context), torch.full((2,), context), _no_absent_leads(2))
        return inputs, ({0: records}, {0: records}, {0: records})

    def trials(self) -> Iterator[Inputs]:
        """Yield random windows in several batch sizes: whole and padded, with and without absent leads."""
        config, rng = self.model.config, np.random.default_rng(0)
        for batch in BATCHES:
            n_valid = rng.integers(config.patch, config.context, batch)
            n_valid[::2] = config.context
            yield _random(rng, n_valid, config.context)


class ExportedClassifier(ExportedEncoder):
    """Classifier of whole records of any length.

    Its buffers are the parameters of each class's calibration, and the thresholds of the classes. Raises
    `UsageError` if the classifier's readout isn't `wide`.
    """

    outputs = ("logit", "probability", "called")
    knots_KN: Tensor
    values_KN: Tensor
    slope_K: Tensor
    shift_K: Tensor
    isotonic_K: Tensor
    thresholds_K: Tensor

    def __init__(self, classifier: EcgClassifier) -> None:
        if classifier.readout_ != "wide":
            problem = f"the readout of an exported classifier must be wide, got {classifier.readout_}"
            remedy = (
                "Fit it again with --set readout=wide: other readouts need R-peaks, which no file can find"
            )
            raise UsageError(problem, remedy=remedy)
        super().__init__(classifier.encoder)
        self.net, self.several = classifier.tuned_.net, classifier.several_
        self.classifier = [classifier]  # in a list, so that it isn't registered as a submodule
        curves = classifier.calibrations_
        most = max(1, *(len(curve.knots) for curve in curves))
        for name in ("knots", "values"):
            rows = [list(getattr(curve, name)) or [0.0] for curve in curves]
            padded_KN = [row + row[-1:] * (most - len(row)) for row in rows]
            self.register_buffer(f"{name}_KN", torch.tensor(padded_KN, dtype=torch.float64))
        for name in ("slope", "shift"):
            values_K = [getattr(curve, name) for curve in curves]
            self.register_buffer(f"{name}_K", torch.tensor(values_K, dtype=torch.float64))
        self.register_buffer("isotonic_K", torch.tensor([curve.kind == "isotonic" for curve in curves]))
        self.register_buffer("thresholds_K", torch.from_numpy(classifier.thresholds_))

    def forward(self, x: Tensor, n_valid: Tensor, absent: Tensor) -> Outputs:
        """Return logits float32, probabilities float64, and whether each class is called, bool; all [B, K].

        Probabilities are float64, because a threshold may be exactly equal to a value of an isotonic curve.
        """
        windows = cut(x, n_valid, absent, self.model.config)
        z_UK = self.net.of_windows(*windows[:3])
        of_record_BU = (windows.row_U == torch.arange(x.shape[0])[:, None]).to(z_UK.dtype)
        z_BK = of_record_BU @ z_UK / of_record_BU.sum(1, keepdim=True)
        wide_BK = z_BK.double()
        p_BK = torch.where(
            self.isotonic_K, self._between(wide_BK), (self.slope_K * wide_BK + self.shift_K).sigmoid()
        )
        if self.several:
            return z_BK, p_BK, p_BK >= self.thresholds_K
        p_BK = p_BK / p_BK.sum(1, keepdim=True).clamp(min=1e-12)
        return z_BK, p_BK, torch.arange(p_BK.shape[1]) == p_BK.argmax(1, keepdim=True)

    def _between(self, z_BK: Tensor) -> Tensor:
        """Interpolate the isotonic curve of each class, as `numpy.interp` does."""
        passed_BK = (z_BK[..., None] >= self.knots_KN).sum(-1)
        classes_K, last = torch.arange(self.knots_KN.shape[0]), self.knots_KN.shape[1] - 1

        def pick(table_KN: Tensor, knot_BK: Tensor) -> Tensor:
            return table_KN[classes_K, knot_BK.clamp(0, last)]

        low, high = pick(self.knots_KN, passed_BK - 1), pick(self.knots_KN, passed_BK)
        share_BK = ((z_BK - low) / (high - low).clamp(min=1e-12)).clamp(0, 1)
        start, end = pick(self.values_KN, passed_BK - 1), pick(self.values_KN, passed_BK)
        return start + share_BK * (end - start)

    def reference(self, inputs: Inputs) -> Outputs:
        """Return the results of `EcgClassifier`, which the file must reproduce."""
        (classifier,) = self.classifier
        logits_BK = classifier.logits_of(_recordings(inputs))
        p_BK = classifier.probabilities(logits_BK)
        return tuple(map(torch.from_numpy, (logits_BK, p_BK, classifier.calls(p_BK))))

    def error(self, expected: Outputs, results: Outputs) -> float:
        """Return the largest error of the file's logits or probabilities.

        The error is infinite if the classifier would call other classes at the file's probabilities.

        Logits are compared with `reference`. Probabilities are compared with the calibration of the file's
        own logits, because a steep calibration would magnify the rounding errors of logits.
        """
        (classifier,) = self.classifier
        logit_BK, p_BK, called_BK = (tensor.numpy() for tensor in results)
        if (called_BK != classifier.calls(p_BK)).any():
            return np.inf
        calibrated_BK = classifier.probabilities(logit_BK.astype(np.float64))
        return float(max(np.abs(expected[0].numpy() - logit_BK).max(), np.abs(calibrated_BK - p_BK).max()))

    def about(self) -> dict[str, str]:
        """Return the classes, their thresholds, and whether a record has exactly one class, as JSON."""
        (classifier,) = self.classifier
        return {
            "classes": json.dumps(classifier.classes_.tolist()),
            "thresholds": json.dumps(classifier.thresholds_.tolist()),
            "exclusive": json.dumps(not self.several),
        }

    def example(self) -> tuple[Inputs, tuple[dict[int, Any], ...]]:
        """Return example inputs for tracing, and the axes whose size may vary: records and samples."""
        config, records = self.model.config, Dim("records", min=1)
        length = 2 * config.context - config.patch
        n_valid = torch.tensor([length, config.context])
        inputs = (torch.zeros(2, len(LEADS), length), n_valid, _no_absent_leads(2))
        return inputs, ({0: records, 2: Dim("samples", min=config.patch)}, {0: records}, {0: records})

    def trials(self) -> Iterator[Inputs]:
        """Yield random records of several lengths and batch sizes, some with absent leads."""
        config, rng = self.model.config, np.random.default_rng(0)
        for batch, length in zip(BATCHES, (config.patch, config.context, 3 * config.context), strict=True):
            n_valid = rng.integers(config.patch, length + 1, batch)
            n_valid[::2] = length
            yield _random(rng, n_valid, length)


def _recordings(inputs: Inputs) -> list[Recording]:
    """Return inputs of a file as recordings without padding."""
    x_BCL, n_valid_B, absent_BC = (tensor.numpy() for tensor in inputs)
    rows = zip(x_BCL, n_valid_B, absent_BC, strict=True)
    return [Recording(x_CL[:, :n_valid], absent_C) for x_CL, n_valid, absent_C in rows]


def _no_absent_leads(records: int) -> Tensor:
    return torch.zeros(records, len(LEADS), dtype=torch.bool)


def _random(rng: np.random.Generator, n_valid_B: Any, length: int) -> Inputs:
    """Return noise around an offset per lead, and zeros after `n_valid_B`.

    Every second record lacks random leads, but never lead II.
    """
    batch = len(n_valid_B)
    x_BCL = rng.normal(0, 0.3, (batch, len(LEADS), length)) + rng.normal(0, 1, (batch, len(LEADS), 1))
    x_BCL *= (np.arange(length) < n_valid_B[:, None])[:, None]
    absent = rng.random((batch, len(LEADS))) < rng.random((batch, 1))
    absent[::2] = False
    absent[:, 1] = False
    return torch.from_numpy(x_BCL).float(), torch.from_numpy(n_valid_B), torch.from_numpy(absent)
