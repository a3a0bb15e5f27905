"""The pages of findings and errata: `python -m tests.docs.ontology_pages` writes them."""

from pathlib import Path

from ecg_base import plain_markdown
from ecg_ontology.loading import errata
from ecg_ontology.validation.reports import CATALOGUE

PAGES = Path(__file__).parents[2] / "docs" / "ontology"
_FINDINGS = """\
# Findings

The rules that `ecgonto validate` checks. Rules on a SNOMED CT release need `--release`. The letter of an id
is its severity (E error, W warning, I information), and its first digit is the chapter."""
_ERRATA = """\
# Errata

Contradictions within the paper, or between the paper and its sources: what is printed, what was found, and
what is decided here. `ontology/errata.ttl` holds them."""


def findings_page() -> str:
    """The findings catalogue, rule by rule."""
    blocks = [_FINDINGS]
    for chapter in CATALOGUE:
        blocks.append(f"## {chapter.title}")
        for rule in chapter.rules:
            blocks.append(f"### {rule.id}")
            blocks.append(f"**{rule.title}.** {rule.why}")
            blocks.append(f"*Fix:* {rule.fix}.")
    return "\n\n".join(blocks) + "\n"


def errata_page() -> str:
    """The errata, with the decision on each."""
    blocks = [_ERRATA]
    for entry in errata():
        blocks.append(f"## {entry.id}")
        parts = {
            "Where": entry.source,
            "Printed": entry.printed,
            "Found": entry.found,
            "Decided": entry.decision,
        }
        blocks += [f"**{name}:** {plain_markdown(text)}" for name, text in parts.items()]
    return "\n\n".join(blocks) + "\n"


if __name__ == "__main__":
    (PAGES / "findings.md").write_text(findings_page(), encoding="utf-8")
    (PAGES / "errata.md").write_text(errata_page(), encoding="utf-8")
