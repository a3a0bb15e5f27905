"""Findings for tools that read line by line: a table of tabs, and the annotations of GitHub's workflows.

Example:
    >>> import ecg_ontology
    >>> ecg_ontology.listings.github([])
    ''
"""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from ecg_ontology.concepts import Finding, Severity

_COLUMNS = ("id", "severity", "subject", "where", "message", "fix")
_COMMANDS = {Severity.error: "error", Severity.warn: "warning", Severity.info: "notice"}


def tsv(findings: Sequence[Finding]) -> str:
    """Return the findings as a table with a header; a field with a tab or a line break is quoted."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, dialect="excel-tab", lineterminator="\n")
    writer.writeheader()
    writer.writerows(finding.model_dump(mode="json") for finding in findings)
    return out.getvalue().rstrip("\n")


def github(findings: Sequence[Finding], source: str | Path | None = None) -> str:
    """Return the findings as workflow commands, which stand beside the lines of a pull request.

    Args:
        findings: what was found.
        source: the folder or file that was checked; it leads to the files from the working directory.
    """
    return "\n".join(_command(finding, source) for finding in findings)


def _command(finding: Finding, source: str | Path | None) -> str:
    file, line = finding.file_and_line
    if file and source is not None:
        path = Path(source)
        file = ((path if path.is_dir() else path.parent) / file).as_posix()
    properties = {"file": file, "line": line, "title": f"{finding.id} {finding.subject}"}
    stated = ",".join(f"{name}={_property(text)}" for name, text in properties.items() if text)
    return f"::{_COMMANDS[finding.severity]} {stated}::{_data(f'{finding.message}. {finding.fix}.')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
