"""Define the commands `ecgonto export` and `ecgonto build`."""

from pathlib import Path
from typing import Annotated

import typer

import ecg_ontology
from ecg_base import UsageError
from marecg_cli._ecgonto_look import Language, Source, note_language
from marecg_cli._options import Profile
from marecg_cli._output import EXIT_FINDINGS, message, result

OWN_SOURCES = Path("ontology")
"""Sources of the packaged bundle, relative to the root of the repository."""
BUNDLE = Path("packages/ecg-ontology/src/ecg_ontology/data/ccg.json")


def export(
    out: Annotated[
        Path, typer.Argument(help="File to write (the ending selects the format), or a folder for sources.")
    ],
    lang: Language = "en",
    profile: Profile = "paper",
    ontology: Source = None,
) -> None:
    """Export the ontology for other programs, as a page or picture, or as editable sources.

    The ending selects the format: .npz .json .ttl .owl .nt .sssom.tsv .svg .png .pdf .html; `fhir` is a
    folder. A name without an ending becomes a folder with the packaged sources.

    Example: ecgonto export ccg.npz

    Example: ecgonto export my-ontology
    """
    if not out.suffix and out.name != "fhir":
        _write_sources(out, ontology)
        return
    onto = ecg_ontology.load(ontology, profile)
    result(str(ecg_ontology.export(onto, out, lang)))
    note_language(onto, onto.nodes, lang)


def _write_sources(folder: Path, ontology: str | None) -> None:
    from ecg_ontology.curation.building import write_sources

    if ontology is not None:
        remedy = "Omit --ontology, or export the graph as .ttl and its routing as .sssom.tsv"
        raise UsageError("only the packaged ontology can be written as sources", where=folder, remedy=remedy)
    result(str(write_sources(folder)))
    message(f"Edit the files, then run: ecgonto build {folder} {out_option(folder)}")


def out_option(sources: Path) -> str:
    """Return the option --out for a suggested `ecgonto build` command, or "" for the packaged sources."""
    packaged = sources.resolve() == OWN_SOURCES.resolve() and BUNDLE.parent.is_dir()
    return "" if packaged else f"--out {sources.resolve().name}.json"


def build(
    sources: Annotated[Path, typer.Argument(help="Folder of sources.")] = OWN_SOURCES,
    out: Annotated[
        Path | None,
        typer.Option(help="Bundle to write. [default: the package's bundle, if run in the repository]"),
    ] = None,
    new_version: Annotated[
        str, typer.Option(help="New version, for example 1.1.0; required to replace the lock file.")
    ] = "",
    check: Annotated[
        bool, typer.Option("--check", help="Only check; the exit code is 1 if a file is out of date.")
    ] = False,
) -> None:
    """Build the bundle and the lock file from the sources, or check that they are up to date.

    Example: ecgonto build --check
    """
    if out is None and (option := out_option(sources)):
        raise UsageError("these sources need --out BUNDLE", where=sources, remedy=f"For example, {option}")
    from ecg_ontology.curation import building

    out = out or BUNDLE
    paths, outdated = building.build(sources, out, new_version, check=check)
    for path in paths:
        state = "up to date" if path not in outdated else "out of date" if check else "written"
        result(f"{path}: {state}")
    if check and outdated:
        message(f"run: ecgonto build {sources} --out {out}")
        raise typer.Exit(EXIT_FINDINGS)
