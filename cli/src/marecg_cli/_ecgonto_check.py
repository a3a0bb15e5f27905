"""Define the command `ecgonto validate`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import ecg_ontology
from ecg_base import UsageError
from marecg_cli._options import Profile
from marecg_cli._output import EXIT_FINDINGS, result, result_json

if TYPE_CHECKING:
    from ecg_ontology import Finding


ReportFormat = Annotated[Literal["text", "json", "github"], typer.Option("--format", help="Output format.")]
Threshold = Annotated[
    Literal["error", "warn", "info"], typer.Option(help="Minimum severity for exit code 1.")
]


def validate(
    source: Annotated[
        str | None,
        typer.Argument(
            help="Folder of sources, or a .ttl, .owl, .nt or .json file. [default: the packaged graph]"
        ),
    ] = None,
    profile: Profile = "paper",
    fail_on: Threshold = "error",
    disable: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Rule to skip; may be repeated.")
    ] = None,
    engine: Annotated[
        Literal["rules", "reasoner", "shacl"],
        typer.Option(
            help="Checks to run: rules; reasoner for the rules and an OWL reasoner (needs Java); shacl for "
            "only the SHACL shapes."
        ),
    ] = "rules",
    release: Annotated[
        Path | None,
        typer.Option(
            help="Also check the routed codes against a SNOMED CT release (RF2 zip or Snapshot folder)."
        ),
    ] = None,
    form: ReportFormat = "text",
) -> None:
    """Check an ontology by the rules in the catalogue of findings.

    The exit code is 1 if there are errors (see --fail-on), and 3 if the source can't be read. With --release,
    routed codes must also exist in the release, be active, and agree with its terms and its hierarchy.

    Example: ecgonto validate ontology --fail-on warn --disable CCG-W310
    """
    if engine == "shacl":
        if disable or release or form != "text" or (profile, fail_on) != ("paper", "error"):
            problem = "can't be combined with --profile, --fail-on, --disable, --release or --format"
            raise UsageError(problem, where="--engine shacl", remedy="Omit these options")
        from ecg_ontology.validation.shacl import shacl_report

        conforms, report = shacl_report(source)
        result(report.rstrip())
        raise typer.Exit(0 if conforms else EXIT_FINDINGS)
    from ecg_ontology.validation import reports

    off = reports.known_rules(disable or [])
    findings = list(ecg_ontology.validate(source, profile))
    if engine == "reasoner":
        from ecg_ontology.validation.owl import consistency

        findings += consistency(ecg_ontology.load(source, profile))
    if release is not None:
        from ecg_ontology.validation.snomed import review_release

        findings += review_release(ecg_ontology.load(source, "curated"), release)
    _report([finding for finding in findings if finding.id not in off], fail_on, form, source)


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
