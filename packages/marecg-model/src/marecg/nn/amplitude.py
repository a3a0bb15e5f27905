"""Amplitude embedding, which shows the encoder the amplitude of each lead.

RevIN, the normalisation of the input, scales every lead to unit variance. After that, a tall QRS and a
low-voltage record look alike. This module therefore computes an embedding of each lead's standard deviation,
and `Tokens` adds the embedding to the lead's tokens. The paper's recipes don't use it.

Shapes: B batch, T patches, C leads, D width.
"""

from torch import Tensor, nn
from torch.nn.functional import gelu

from marecg.nn.attention import init_linear
from marecg.nn.revin import Scale


class Amplitude(nn.Module):
    """Embedding of each lead's log standard deviation, [B, C, D]. A hidden lead is embedded as zero.

    The logarithm of the standard deviation in mV is first standardised by its mean and spread over 12-lead
    records at rest. Otherwise it would be negative for almost all records, and each unit of the GELU would
    start either linear or close to zero.
    """

    MEAN, SPREAD = -1.8, 0.6

    def __init__(self, width: int) -> None:
        super().__init__()
        self.widen = nn.Linear(1, width)
        self.mix = nn.Linear(width, width)
        self.apply(init_linear)

    def forward(self, scale: Scale, hidden_BTC: Tensor | None = None) -> Tensor:
        """Return the embedding [B, C, D] of each lead's scale.

        Args:
            scale: scale that RevIN removed.
            hidden_BTC: True for patches of a lead that are masked or padded. A lead without any visible patch
                is embedded as zero.
        """
        standard_BC1 = (scale.std_BC1.log() - self.MEAN) / self.SPREAD
        embedding_BCD: Tensor = self.mix(gelu(self.widen(standard_BC1)))
        if hidden_BTC is None:
            return embedding_BCD
        return embedding_BCD.masked_fill(hidden_BTC.all(1)[..., None], 0.0)
