"""Report the findings of checks: as annotations on GitHub, and as a failure from a given severity on.

Example:
    >>> import ecg_ontology
    >>> ecg_ontology.validation.reports.github([])
    ''
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ecg_base import UsageError
from ecg_ontology.checks import CHAPTERS
from ecg_ontology.checks.rule import Chapter, Rule
from ecg_ontology.curation.findings import AGAINST_OTHERS
from ecg_ontology.graph.concepts import Finding, Severity
from ecg_ontology.validation.owl import REASONER
from ecg_ontology.validation.snomed import SNOMED

CATALOGUE: tuple[Chapter[Any], ...] = (*CHAPTERS, SNOMED, AGAINST_OTHERS, REASONER)
"""Chapters of all rules."""
RULES: dict[str, Rule[Any]] = {rule.id: rule for chapter in CATALOGUE for rule in chapter.rules}

_GITHUB = {Severity.error: "error", Severity.warn: "warning", Severity.info: "notice"}
_SEVEREST_FIRST = list(Severity)


def known_rules(rule_ids: Sequence[str]) -> frozenset[str]:
    """Return rule ids as a set. Raises `UsageError` for an unknown rule."""
    for rule_id in rule_ids:
        if rule_id not in RULES:
            raise UsageError(f"unknown rule {rule_id!r}", remedy="docs/ontology/findings.md lists the rules")
    return frozenset(rule_ids)


def fails(findings: Sequence[Finding], least: Severity = Severity.error) -> bool:
    """Return whether any finding is at least as severe as `least`."""
    failing = _SEVEREST_FIRST[: _SEVEREST_FIRST.index(least) + 1]
    return any(finding.severity in failing for finding in findings)


def _path_from(file: str, source: str | Path) -> Path:
    """Return the path of a file in a source. The source is a folder or a single file."""
    return (Path(source) if Path(source).is_dir() else Path(source).parent) / file


def github(findings: Sequence[Finding], source: str | Path | None = None) -> str:
    """Return the findings as GitHub workflow commands, which annotate the lines of a pull request.

    Args:
        findings: the findings.
        source: the checked source, to which the paths in findings are relative.
    """
    return "\n".join(_command(finding, source) for finding in findings)


def _command(finding: Finding, source: str | Path | None) -> str:
    file, line = finding.file_and_line
    if file and source is not None:
        file = _path_from(file, source).as_posix()
    properties = {"file": file, "line": line, "title": f"{finding.id} {finding.subject}"}
    texts = {name: _data(text).replace(":", "%3A").replace(",", "%2C") for name, text in properties.items()}
    stated = ",".join(f"{name}={text}" for name, text in texts.items() if text)
    return f"::{_GITHUB[finding.severity]} {stated}::{_data(f'{finding.message}. {finding.fix}.')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
