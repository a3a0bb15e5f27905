"""Run a module with a convolutional stem in place of the linear map W_p of patches.

    python -m research.edition.stem marecg train --recipe small --data CORPUS --out RUN
    python -m research.edition.stem research.edition.read FOLDS PTBXL FEATURES OUT RUN

Patches must not overlap, as in `small`. A run's weights can be read only with the stem in place.

Shapes: B batch, T patches, C leads, P samples per patch, D width.
"""

import runpy
import sys

from torch import Tensor, nn

from marecg.model import mar_ecg
from marecg.nn.revin import Scale
from marecg.nn.tokens import Tokens

STRIDES = (5, 4, 5)
"""Strides of the convolutions. Their product is the patch of `small`, 100 samples."""


class Stem(nn.Sequential):
    """Convolutions along each lead, [B, T, C, P] → [B, T, C, D].

    A value before the last map depends on 50 samples (0.1 s), of which 15 can be beyond the patch.
    """

    def __init__(self, width: int) -> None:
        first, second, third = STRIDES
        super().__init__(
            nn.Conv1d(1, 16, 3 * first, stride=first, padding=first),
            nn.GELU(),
            nn.Conv1d(16, 24, 2 * second, stride=second, padding=second // 2),
            nn.GELU(),
            nn.Conv1d(24, width, third, stride=third),
        )
        for layer in self:
            if isinstance(layer, nn.Conv1d):  # the content has the variance that the linear map's has
                nn.init.kaiming_normal_(layer.weight)

    def forward(self, x_BTCP: Tensor) -> Tensor:
        """Return the content of the tokens."""
        records, _, leads, _ = x_BTCP.shape
        of_leads: Tensor = x_BTCP.transpose(1, 2).reshape(records * leads, 1, -1)
        for layer in self:
            of_leads = layer(of_leads)
        return of_leads.reshape(records, leads, *of_leads.shape[1:]).permute(0, 3, 1, 2)


class StemTokens(Tokens):
    """Token embedding with the stem. Hidden patches are zero before it, so no neighbour depends on them."""

    def __init__(
        self, leads: int, positions: int, patch: int, width: int, *, amplitude: bool = False
    ) -> None:
        super().__init__(leads, positions, patch, width, amplitude=amplitude)
        self.project = Stem(width)  # type: ignore[assignment]

    def forward(self, x_BTCP: Tensor, hidden_BTC: Tensor | None = None, scale: Scale | None = None) -> Tensor:
        """Return the tokens; see `Tokens`."""
        if hidden_BTC is not None:
            x_BTCP = x_BTCP.masked_fill(hidden_BTC[..., None], 0)
        return super().forward(x_BTCP, hidden_BTC, scale)


def main(module: str, *args: str) -> None:
    """Run a module with its arguments."""
    vars(mar_ecg)["Tokens"] = StemTokens
    sys.argv = [module, *args]
    runpy.run_module(module, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
