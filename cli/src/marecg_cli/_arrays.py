"""The options that say what an array is; they mean the same in every command that reads one."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ecg_ontology import UsageError

if TYPE_CHECKING:
    from marecg.read.array_layout import Layout

Fs = Annotated[float | None, typer.Option(help="Sampling rate of arrays in Hz.")]
Array = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="What else is to be said of arrays; may be repeated. leads=I,II,V2 (the usual twelve without), "
        "units=mV, uV, V or adc, gain=200 (units per mV, for adc), key=NAME (one array of several).",
    ),
]
KEYS = ("leads", "units", "gain", "key")


def array_layout(fs: float | None, array: list[str] | None) -> "Layout | None":
    """What was said of arrays; None where no rate was. Raises `UsageError`."""
    from marecg.base.config import LEADS
    from marecg.read.array_layout import Layout

    given: dict[str, Any] = dict(each.partition("=")[::2] for each in array or ())
    for key in given.keys() - set(KEYS):
        raise UsageError(f"there is no {key!r}", where="--array", remedy=f"Choose from {', '.join(KEYS)}")
    if fs is None and given:
        raise UsageError("--array is for arrays", remedy="Add --fs, in samples per second")
    if "gain" in given:
        try:
            given["gain"] = float(given["gain"])
        except ValueError as error:
            raise UsageError(f"{given['gain']!r} isn't a number", where="--array gain") from error
    names = [name.strip() for name in given.pop("leads", "").split(",") if name.strip()]
    return None if fs is None else Layout(fs, tuple(names) or LEADS, **given)
