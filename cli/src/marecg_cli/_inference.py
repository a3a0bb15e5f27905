"""Commands that use a trained encoder on any ECG.

Each imports what it runs inside itself, so that `marecg --help` stays quick and loads no torch.
"""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from marecg_cli._output import EXIT_FINDINGS, Format, message, result, result_json


def embed(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run.")],
    inputs: Annotated[
        list[Path],
        typer.Argument(metavar="INPUT…", help="WFDB headers, folders of records, or .npy arrays in mV."),
    ],
    out: Annotated[Path, typer.Option(help="What to write: .npz or .parquet.")],
    fs: Annotated[float | None, typer.Option(help="Sampling rate of the arrays in Hz.", min=1)] = None,
    leads: Annotated[
        str, typer.Option(help="Leads of the arrays by name, with commas; all twelve if empty.")
    ] = "",
) -> None:
    """Embed ECGs: h_rhythm of every record, by a frozen encoder. Exit code 1 when a record can't be read.

    Example: marecg embed run /data/georgia --out georgia.npz
    """
    from marecg.config import LEADS
    from marecg.embedding import embed_files

    names = [name.strip() for name in leads.split(",")] if leads else LEADS
    done = embed_files(run, inputs, out, fs=fs, leads=names)
    for problem in done.failed.values():
        message(f"not embedded: {problem}")
    result(f"{len(done.ids)} records in {out}")
    if done.failed:
        raise typer.Exit(EXIT_FINDINGS)


def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run, trained with GSCL.")],
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="A WFDB record.")],
    top: Annotated[int, typer.Option(help="How many concepts.", min=1)] = 5,
    format_: Annotated[Format, typer.Option("--format", help="How to print them.")] = Format.text,
) -> None:
    """Name the concepts that a record is nearest to, with their graph neighbours; no probe, and no diagnosis.

    Example: marecg predict run /data/georgia/E00001
    """
    from marecg.embedding import predict_file

    found = predict_file(run, record, top)
    if format_ is Format.json:
        result_json([asdict(concept) for concept in found])
        return
    for concept in found:
        near = ", ".join(f"{each.abbr} {each.probability:.3f}" for each in concept.neighbours)
        result(f"{concept.probability:.3f}  {concept.abbr:<8} {concept.label}   ({near})")


COMMANDS: tuple[Callable[..., None], ...] = (embed, predict)
