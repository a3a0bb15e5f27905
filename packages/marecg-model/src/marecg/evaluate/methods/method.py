"""What turns signals into features, and the features of a data set's recordings.

Shapes: R recordings, B batch, F features, C leads, L samples.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from marecg.base.errors import RecordError
from marecg.evaluate.probe.linear import Choose

Signals = list[NDArray[np.float32]]


@dataclass(frozen=True)
class Method:
    """A way from signals to features.

    Attributes:
        name: such as `encoder`.
        sha256: changes when the features would.
        compute: B arrays float32 [12, L] in mV at 500 Hz → float [B, F].
        choose: the classifier that belongs to the features, if any; a protocol has one for all others.
        verify: raises when the method is no longer what `sha256` says.
        readouts: by name, the columns of the features that are judged; all of them, under the method's own
            name, if there are none.
        weights: by name of a readout, what its features are multiplied by once they are standardised.
        chooses: by name of a readout, the classifier that belongs to it in place of `choose`.
        apart: whether other processes may compute it: it is small, has no threads of its own, and
            learns nothing from one batch for the next.
    """

    name: str
    sha256: str
    compute: Callable[[Signals], NDArray[np.floating]]
    choose: Choose | None = None
    verify: Callable[[], None] = lambda: None
    readouts: Mapping[str, slice] = field(default_factory=dict, hash=False)
    weights: Mapping[str, NDArray[np.float32]] = field(default_factory=dict, hash=False)
    chooses: Mapping[str, Choose] = field(default_factory=dict, hash=False)
    apart: bool = False

    @property
    def columns(self) -> Mapping[str, slice]:
        """Which features are judged under which names."""
        return self.readouts or {self.name: slice(None)}


@dataclass(frozen=True)
class FeatureTable:
    """Features float32 [R, F], NaN for the unreadable, and why each of those can't be read, by id."""

    x_RF: NDArray[np.float32]
    unreadable: dict[str, str]

    def only(self, columns: slice) -> "FeatureTable":
        """Some of the features."""
        return FeatureTable(self.x_RF[:, columns], self.unreadable)


def finite(x_CL: NDArray[np.float32]) -> NDArray[np.float32]:
    """The signal itself, if every sample has a value. Raises `RecordError` (`nan`) otherwise."""
    if not np.isfinite(x_CL).all():
        raise RecordError("nan", "has samples without a value")
    return x_CL
