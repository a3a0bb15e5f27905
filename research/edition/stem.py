"""Run a module with another map from patches to tokens in place of the linear map W_p.

    python -m research.edition.stem convolutions marecg train --recipe small --data CORPUS --out RUN
    python -m research.edition.stem convolutions research.edition.read FOLDS PTBXL FEATURES OUT RUN

The map is one of `STEMS`. Patches must not overlap, as in `small`. A run's weights can be read only with the
map in place.

Shapes: B batch, T patches, C leads, P samples per patch, D width, N leads of all records, L samples.
"""

import runpy
import sys
from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from marecg.model import mar_ecg
from marecg.nn.revin import Scale
from marecg.nn.tokens import Tokens
from marecg_research.s4 import Block

STRIDES = (5, 4, 5)
"""Strides of the convolutions. Their product is the patch of `small`, 100 samples."""


def convolutions(width: int) -> nn.Module:
    """Return convolutions along a lead, [N, 1, L] → [N, D, T].

    A value before the last map depends on 50 samples (0.1 s), of which 15 can be beyond the patch.
    """
    first, second, third = STRIDES
    stem = nn.Sequential(
        nn.Conv1d(1, 16, 3 * first, stride=first, padding=first),
        nn.GELU(),
        nn.Conv1d(16, 24, 2 * second, stride=second, padding=second // 2),
        nn.GELU(),
        nn.Conv1d(24, width, third, stride=third),
    )
    for layer in stem:
        if isinstance(layer, nn.Conv1d):  # the content has the variance that the linear map's has
            nn.init.kaiming_normal_(layer.weight)
    return stem


class StateSpaces(nn.Module):
    """Two bidirectional blocks of S4D along a lead with 25 steps per second, [N, 1, L] → [N, D, T]."""

    def __init__(self, width: int) -> None:
        super().__init__()
        first, second, third = STRIDES
        self.steps = nn.Conv1d(1, 24, first * second, stride=first * second)
        self.blocks = nn.Sequential(Block(24), Block(24), nn.LayerNorm(24))
        self.patches = nn.Conv1d(24, width, third, stride=third)
        nn.init.kaiming_normal_(self.patches.weight, nonlinearity="linear")
        for part in self.modules():
            if isinstance(part, nn.Dropout):
                part.p = 0.0  # the encoder has none

    def forward(self, x_N1L: Tensor) -> Tensor:
        """Return the content of the tokens."""
        h_NLW = self.blocks(self.steps(x_N1L).transpose(1, 2))
        return self.patches(h_NLW.transpose(1, 2))  # type: ignore[no-any-return]


STEMS: dict[str, Callable[[int], nn.Module]] = {"convolutions": convolutions, "s4d": StateSpaces}


class Stem(nn.Module):
    """Content of the tokens from whole leads, [B, T, C, P] → [B, T, C, D]."""

    def __init__(self, of_leads: nn.Module) -> None:
        super().__init__()
        self.of_leads = of_leads

    def forward(self, x_BTCP: Tensor) -> Tensor:
        """Return the content of the tokens."""
        records, _, leads, _ = x_BTCP.shape
        content_NDT = self.of_leads(x_BTCP.transpose(1, 2).reshape(records * leads, 1, -1))
        return content_NDT.reshape(records, leads, *content_NDT.shape[1:]).permute(0, 3, 1, 2)  # type: ignore[no-any-return]


class StemTokens(Tokens):
    """Token embedding with a stem. Hidden patches are zero before it, so no neighbour depends on them."""

    def __init__(
        self,
        leads: int,
        positions: int,
        patch: int,
        width: int,
        *,
        amplitude: bool = False,
        stem: Callable[[int], nn.Module],
    ) -> None:
        super().__init__(leads, positions, patch, width, amplitude=amplitude)
        self.project = Stem(stem(width))  # type: ignore[assignment]

    def forward(self, x_BTCP: Tensor, hidden_BTC: Tensor | None = None, scale: Scale | None = None) -> Tensor:
        """Return the tokens; see `Tokens`."""
        if hidden_BTC is not None:
            x_BTCP = x_BTCP.masked_fill(hidden_BTC[..., None], 0)
        return super().forward(x_BTCP, hidden_BTC, scale)


def main(stem: str, module: str, *args: str) -> None:
    """Run a module with its arguments, where each new model has the stem."""
    vars(mar_ecg)["Tokens"] = partial(StemTokens, stem=STEMS[stem])
    sys.argv = [module, *args]
    runpy.run_module(module, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
