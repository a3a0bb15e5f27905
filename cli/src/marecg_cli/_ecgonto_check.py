"""Commands that check an ontology, and explain the checks."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import ecg_ontology
from ecg_base import UsageError
from marecg_cli._ecgonto_look import Source
from marecg_cli._options import As, Profile
from marecg_cli._output import EXIT_FINDINGS, result, result_json

if TYPE_CHECKING:
    from ecg_ontology import Finding


ReportFormat = Annotated[Literal["text", "json", "github"], typer.Option("--format", help="How to print.")]
Threshold = Annotated[Literal["error", "warn", "info"], typer.Option(help="The least severity that exits 1.")]


def validate(
    source: Annotated[
        str | None,
        typer.Argument(help="A folder of sources, .ttl, .owl, .nt or .json; default: packaged."),
    ] = None,
    profile: Profile = "paper",
    fail_on: Threshold = "error",
    disable: Annotated[list[str] | None, typer.Option(metavar="ID", help="Leave out a rule.")] = None,
    engine: Annotated[
        Literal["rules", "reasoner", "shacl"],
        typer.Option(
            help="reasoner: the rules and an OWL reasoner (Java); shacl: the shapes alone, as Turtle."
        ),
    ] = "rules",
    form: ReportFormat = "text",
) -> None:
    """Check an ontology against the findings catalogue.

    Exits 1 when there is an error (or what --fail-on says), 3 when the source can't be read.

    Example: ecgonto validate ontology --fail-on warn --disable CCG-W310
    """
    if engine == "shacl":
        if disable or form != "text" or (profile, fail_on) != ("paper", "error"):
            problem = "the report of SHACL takes no --profile, --fail-on, --disable or --format"
            raise UsageError(problem, where="--engine shacl", remedy="Leave them out")
        from ecg_ontology.validation.shacl import shacl_report

        conforms, report = shacl_report(source)
        result(report.rstrip())
        raise typer.Exit(0 if conforms else EXIT_FINDINGS)
    from ecg_ontology.validation import reports

    off = reports.known_rules(disable or [])
    findings = [finding for finding in ecg_ontology.validate(source, profile) if finding.id not in off]
    if engine == "reasoner":
        from ecg_ontology.validation.owl import consistency

        findings += consistency(ecg_ontology.load(source, profile))
    _report(findings, fail_on, form, source)


def snomed(
    release: Annotated[Path, typer.Argument(help="RF2 zip or folder, with its Snapshot.")],
    fail_on: Threshold = "error",
    form: ReportFormat = "text",
    ontology: Source = None,
) -> None:
    """Check the routing against your own SNOMED CT release: codes exist, are active, say the same, lie right.

    You need a licence for the release; none is shipped or downloaded.

    Example: ecgonto snomed SnomedCT_InternationalRF2.zip --format json
    """
    from ecg_ontology.validation.snomed import review_release

    findings = review_release(ecg_ontology.load(ontology, "curated"), release)
    _report(findings, fail_on, form)


def rules(
    rule: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Default: all rules.")] = None,
    form: Annotated[
        Literal["text", "json", "markdown"], typer.Option("--format", help="How to print.")
    ] = "text",
) -> None:
    """Explain the rules of the findings catalogue: what they say, why, and what to do.

    Example: ecgonto rules CCG-E012
    """
    from ecg_ontology.validation import reports

    if form == "markdown":
        result(reports.catalogue_markdown())
        return
    chosen = reports.known_rules(rule or list(reports.RULES))
    entries = [entry for entry in reports.RULES.values() if entry.id in chosen]
    if form == "json":
        fields = ("id", "severity", "title", "why", "fix")
        result_json([{name: getattr(entry, name) for name in fields} for entry in entries])
        return
    for entry in entries:
        result(f"{entry.id}  {entry.title}\n    {entry.why}\n    {entry.fix}")


def errata(form: As = "text") -> None:
    """List where the paper contradicts itself or its sources, what was decided, and the test that holds it.

    Example: ecgonto errata --format json
    """
    entries = ecg_ontology.errata()
    if form == "json":
        result_json([entry.model_dump() for entry in entries])
        return
    for entry in entries:
        result(f"{entry.id}  {entry.source}\n  paper     {entry.printed}\n  found     {entry.found}")
        result(f"  decision  {entry.decision}\n  test      {entry.test}\n")


def _report(
    findings: "Sequence[Finding]", fail_on: Threshold, form: ReportFormat, source: str | None = None
) -> None:
    from ecg_ontology.validation import reports

    failed = reports.fails(findings, ecg_ontology.Severity[fail_on])
    if form == "json":
        result_json({"ok": not failed, "findings": [finding.model_dump() for finding in findings]})
    elif form == "text":
        for finding in findings:
            place = f"{finding.where}: " if finding.where else ""
            result(f"{finding.severity:<5} {finding.id}  {place}{finding.message}\n      {finding.fix}")
        result(f"{'not ok' if failed else 'ok'}: {len(findings)} findings")
    elif findings:
        result(reports.github(findings, source))
    if failed:
        raise typer.Exit(EXIT_FINDINGS)
