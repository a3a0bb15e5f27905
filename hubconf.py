"""The packaged encoders for `torch.hub.load("OWNER/mar-ecg", "marecg_small")`, where marecg is installed."""

from marecg import MarEcg

dependencies = ["marecg", "marecg_small", "torch"]


def marecg_small() -> MarEcg:
    """The encoder that has seen no code of PTB-XL."""
    return MarEcg.from_pretrained("marecg-small")


def marecg_small_codes() -> MarEcg:
    """The encoder for records of one's own, which learnt from PTB-XL's statements too."""
    return MarEcg.from_pretrained("marecg-small-codes")
