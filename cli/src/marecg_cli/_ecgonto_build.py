"""Commands that check an ontology and turn it into other forms."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import ecg_ontology
from ecg_ontology import Finding, Severity
from marecg_cli._ecgonto_look import As, Profile, Source
from marecg_cli._output import EXIT_FINDINGS, Format, message, result, result_json

BUNDLE = Path("packages/ecg-ontology/src/ecg_ontology/data/ccg.json")


class ReportFormat(StrEnum):
    """How findings are printed."""

    text = "text"
    json = "json"
    sarif = "sarif"
    junit = "junit"


class Threshold(StrEnum):
    """How severe a finding must be to fail."""

    error = "error"
    warn = "warn"
    info = "info"


def validate(
    source: Annotated[
        str | None, typer.Argument(help="A folder of sources, .ttl, .owl, .nt or .json; default: packaged.")
    ] = None,
    profile: Profile = "paper",
    fail_on: Annotated[Threshold, typer.Option(help="The least severity that exits 1.")] = Threshold.error,
    disable: Annotated[list[str] | None, typer.Option(metavar="ID", help="Leave out a rule.")] = None,
    reasoner: Annotated[bool, typer.Option("--reasoner", help="Also ask an OWL reasoner (Java).")] = False,
    form: Annotated[ReportFormat, typer.Option("--format", help="How to print.")] = ReportFormat.text,
) -> None:
    """Check an ontology against the findings catalogue.

    Exits 1 when there is an error (or what --fail-on says), 3 when the source can't be read.

    Example: ecgonto validate ontology --fail-on warn --disable CCG-W310
    """
    from ecg_ontology import reports

    off = reports.known_rules(disable or [])
    findings = [finding for finding in ecg_ontology.validate(source, profile) if finding.id not in off]
    if reasoner:
        from ecg_ontology.owl import consistency

        findings += consistency(ecg_ontology.load(source, profile))
    failed = reports.fails(findings, Severity[fail_on])
    _report(findings, failed, form)


def snomed(
    release: Annotated[Path, typer.Argument(help="RF2 zip or folder, or a Global Patient Set file.")],
    profile: Profile = "curated",
    fail_on: Annotated[Threshold, typer.Option(help="The least severity that exits 1.")] = Threshold.error,
    form: Annotated[ReportFormat, typer.Option("--format", help="How to print.")] = ReportFormat.text,
    ontology: Source = None,
) -> None:
    """Check the routing against your own SNOMED CT release: codes exist, are active, say the same, lie right.

    You need a licence for the release; none is shipped or downloaded.

    Example: ecgonto snomed SnomedCT_InternationalRF2.zip --format json
    """
    from ecg_ontology import reports
    from ecg_ontology.snomed import review

    findings = review(ecg_ontology.load(ontology, profile), release)
    _report(findings, reports.fails(findings, Severity[fail_on]), form)


def errata(form: As = Format.text) -> None:
    """List where the paper contradicts itself or its sources, what was decided, and the test that holds it.

    Example: ecgonto errata --format json
    """
    entries = ecg_ontology.errata()
    if form is Format.json:
        result_json([entry.model_dump() for entry in entries])
        return
    for entry in entries:
        result(f"{entry.id}  {entry.source}\n  paper     {entry.printed}\n  found     {entry.found}")
        result(f"  decision  {entry.decision}\n  test      {entry.test}\n")


def export(
    out: Annotated[Path, typer.Argument(help="The ending says the form.")],
    profile: Profile = "paper",
    ontology: Source = None,
) -> None:
    """Write the ontology as .npz, .safetensors, .json, .csv (a folder), .ttl, .owl, .nt or .dot.

    Example: ecgonto export ccg.npz
    """
    result(str(ecg_ontology.export(ecg_ontology.load(ontology, profile), out)))


def build(
    sources: Annotated[Path, typer.Argument(help="The folder of sources.")] = Path("ontology"),
    out: Annotated[
        Path, typer.Option(help="The bundle; default: the package's own, from the root.")
    ] = BUNDLE,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 if something is stale.")
    ] = False,
) -> None:
    """Build the bundle and the lock file from the sources, or check that they are up to date.

    Example: ecgonto build --check
    """
    from ecg_ontology.building import built_files, stale, write

    files = built_files(sources, out)
    outdated = stale(files)
    if not check:
        write({path: files[path] for path in outdated})
    for path in files:
        state = "up to date" if path not in outdated else "stale" if check else "written"
        result(f"{path}: {state}")
    if check and outdated:
        message(f"run: ecgonto build {sources} --out {out}")
        raise typer.Exit(EXIT_FINDINGS)


COMMANDS = (validate, snomed, errata, export, build)


def _report(findings: Sequence[Finding], failed: bool, form: ReportFormat) -> None:
    """Print findings, and end with exit code 1 when they fail."""
    from ecg_ontology import reports

    if form is ReportFormat.json:
        result_json({"ok": not failed, "findings": [finding.model_dump() for finding in findings]})
    elif form is ReportFormat.sarif:
        result(reports.sarif(findings))
    elif form is ReportFormat.junit:
        result(reports.junit(findings))
    else:
        for finding in findings:
            place = f"{finding.where}: " if finding.where else ""
            result(f"{finding.severity:<5} {finding.id}  {place}{finding.message}\n      {finding.fix}")
        result(f"{'not ok' if failed else 'ok'}: {len(findings)} findings")
    if failed:
        raise typer.Exit(EXIT_FINDINGS)
