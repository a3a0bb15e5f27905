"""Findings in the forms that other tools read: SARIF, JUnit XML, GitHub's annotations.

Example:
    >>> import ecg_ontology
    >>> ecg_ontology.reports.github([])
    ''
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from ecg_ontology.checks import CHAPTERS
from ecg_ontology.checks.rule import Chapter, Rule
from ecg_ontology.concepts import Finding, Severity
from ecg_ontology.errors import UsageError
from ecg_ontology.owl import REASONER
from ecg_ontology.snomed import SNOMED
from ecg_ontology.xml_entities import XML_FORBIDS

CATALOGUE: tuple[Chapter[Any], ...] = (*CHAPTERS, SNOMED, REASONER)
"""Every chapter, whatever its rules look at."""
RULES: dict[str, Rule[Any]] = {rule.id: rule for chapter in CATALOGUE for rule in chapter.rules}

_SARIF = {Severity.error: "error", Severity.warn: "warning", Severity.info: "note"}
_GITHUB = {**_SARIF, Severity.info: "notice"}
_SEVEREST_FIRST = list(Severity)
_HEAD = """\
# Findings

Every rule that `ecgonto validate` and `ecgonto snomed` check. The letter of an id is its severity
(E error, W warning, I information), its first digit the chapter. Ids never change their meaning.
This page is the output of `ecgonto rules --format markdown`."""


def known_rules(rule_ids: Sequence[str]) -> frozenset[str]:
    """Return `rule_ids` as a set. Raises `UsageError` where one isn't a rule of the catalogue."""
    for rule_id in rule_ids:
        if rule_id not in RULES:
            raise UsageError(f"no rule is called {rule_id!r}", remedy="The catalogue in the docs lists them")
    return frozenset(rule_ids)


def fails(findings: Sequence[Finding], at: Severity = Severity.error) -> bool:
    """Whether any finding is as severe as `at`, or more.

    Example:
        >>> import ecg_ontology
        >>> fails(ecg_ontology.validate()), fails(ecg_ontology.validate(), Severity.warn)
        (False, True)
    """
    failing = _SEVEREST_FIRST[: _SEVEREST_FIRST.index(at) + 1]
    return any(finding.severity in failing for finding in findings)


def sarif(findings: Sequence[Finding], source: str | Path | None = None) -> str:
    """Return the findings as SARIF 2.1.0, with the rules that they break.

    Files of the `source` that was checked are named from the working directory on, as a code host expects
    from a run at the root of its repository; those outside of it by their full path.
    """
    rules = [
        {
            "id": rule.id,
            "shortDescription": {"text": rule.title},
            "fullDescription": {"text": rule.why},
            "help": {"text": rule.fix},
        }
        for rule in (RULES[rule_id] for rule_id in sorted({finding.id for finding in findings}))
    ]
    run = {
        "tool": {"driver": {"name": "ecgonto", "rules": rules}},
        "results": [_sarif_result(finding, source) for finding in findings],
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _sarif_result(finding: Finding, source: str | Path | None) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": finding.id,
        "level": _SARIF[finding.severity],
        "message": {"text": f"{finding.message}. {finding.fix}."},
    }
    if finding.where:
        file, line = finding.file_and_line
        place: dict[str, object] = {"artifactLocation": {"uri": _uri(file, source)}}
        if line:
            place["region"] = {"startLine": int(line)}
        result["locations"] = [{"physicalLocation": place}]
    return result


def _uri(file: str, source: str | Path | None) -> str:
    if source is None:
        return quote(file)
    path, base = _beside(file, source).resolve(), Path.cwd().resolve()
    return quote(path.relative_to(base).as_posix()) if path.is_relative_to(base) else path.as_uri()


def _beside(file: str, source: str | Path) -> Path:
    """The path of a file of a source, which is a folder or one file."""
    return (Path(source) if Path(source).is_dir() else Path(source).parent) / file


def junit(findings: Sequence[Finding], at: Severity = Severity.error) -> str:
    """Return the findings as JUnit XML: one test case for each rule.

    A finding as severe as `at`, or more, fails the case of its rule; a lesser one stands in its output.
    """
    by_rule = {rule_id: [f for f in findings if f.id == rule_id] for rule_id in RULES}
    failed = sum(fails(some, at) for some in by_rule.values())
    suite = ElementTree.Element("testsuite", name="ecgonto", tests=str(len(RULES)), failures=str(failed))
    for rule_id, some in by_rule.items():
        name = f"{rule_id} {RULES[rule_id].title}"
        case = ElementTree.SubElement(suite, "testcase", classname="ecgonto", name=name)
        failing = fails(some, at)
        for finding in some if failing else ():
            about = {"message": _printable(finding.message), "type": finding.severity.value}
            ElementTree.SubElement(case, "failure", about).text = _line(finding)
        if some and not failing:
            ElementTree.SubElement(case, "system-out").text = "\n".join(map(_line, some))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def _line(finding: Finding) -> str:
    return _printable(f"{finding.where} {finding.message}. {finding.fix}.".strip())


def _printable(text: str) -> str:
    return XML_FORBIDS.sub("\N{REPLACEMENT CHARACTER}", text)


def github(findings: Sequence[Finding], source: str | Path | None = None) -> str:
    """Return the findings as workflow commands, which stand beside the lines of a pull request.

    `source`, which was checked, leads to the files from the working directory.
    """
    return "\n".join(_command(finding, source) for finding in findings)


def _command(finding: Finding, source: str | Path | None) -> str:
    file, line = finding.file_and_line
    if file and source is not None:
        file = _beside(file, source).as_posix()
    properties = {"file": file, "line": line, "title": f"{finding.id} {finding.subject}"}
    stated = ",".join(f"{name}={_property(text)}" for name, text in properties.items() if text)
    return f"::{_GITHUB[finding.severity]} {stated}::{_data(f'{finding.message}. {finding.fix}.')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def catalogue_markdown() -> str:
    """Return the findings catalogue as a page of the docs."""
    blocks = [_HEAD]
    for chapter in CATALOGUE:
        blocks.append(f"## {chapter.title}")
        for rule in chapter.rules:
            blocks.append(f"### {rule.id}")
            blocks.append(f"**{rule.title}.** {rule.why}")
            blocks.append(f"*What to do:* {rule.fix}.")
    return "\n\n".join(blocks)
