"""The options that say what an array is; they mean the same in every command that reads one."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from marecg.read.array_layout import Layout

Fs = Annotated[float | None, typer.Option(help="Sampling rate of arrays in Hz.")]
Leads = Annotated[str, typer.Option(help="Leads of arrays by name, with commas; the usual twelve if empty.")]
Units = Annotated[
    Literal["mV", "uV", "V", "adc"], typer.Option(help="Units of arrays; adc is to be used with --gain.")
]
Gain = Annotated[float | None, typer.Option(help="Units per mV, for --units adc.")]
Key = Annotated[str, typer.Option(help="Which array of the file, where several could be signals.")]


def array_layout(fs: float | None, leads: str, units: str, gain: float | None, key: str) -> "Layout | None":
    """What was said of arrays; None where no rate was. Raises `UsageError`."""
    from marecg.base.config import LEADS
    from marecg.base.errors import UsageError
    from marecg.read.array_layout import Layout

    if fs is None:
        if leads or gain is not None or key or units != "mV":
            remedy = "Add --fs, in samples per second"
            raise UsageError("--leads, --units, --gain and --key are for arrays", remedy=remedy)
        return None
    names = tuple(name.strip() for name in leads.split(",")) if leads else LEADS
    return Layout(fs, names, units, gain, key)
