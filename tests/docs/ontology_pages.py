"""The pages of validation rules and errata: `python -m tests.docs.ontology_pages` writes them."""

from pathlib import Path

from ecg_base import plain_markdown
from ecg_ontology.loading import errata
from ecg_ontology.validation.reports import CATALOGUE

PAGES = Path(__file__).parents[2] / "docs" / "ontology"
_FINDINGS = """\
# Validation rules

`ecgonto validate` checks these rules. The letter of an id is its severity: E for an error, W for a warning.
Rules on a SNOMED CT release need `--release`. The last rule needs `--engine reasoner`.

Concepts are *roots* (families) or *leaves*. In the reasons, y is a record's 0/1 vector of leaves and c\\* its
[primary leaf](index.md#one-record-start-to-end), selected by the rule max-index or most-specific. D holds the
distances in the graph, A its adjacency, Â the normalised adjacency. The *lock* is the file `enumeration.lock`
with the concepts, edges and routing of a version. The official map is `challenge.tsv`, the codes and labels
of the PhysioNet/CinC Challenges. In a routing table (SSSOM), object_id is the concept of a row. A SNOMED CT
release names a concept if a term of the code is a name of the concept."""
_ERRATA = """\
# Errata

This page lists contradictions within the paper, or between the paper and its sources, with our decision on
each. Concepts have indices, such as 17, and D is their distance in edges. IS_A edges lead to the root
(family) or, as subtypeOf, to a wider leaf. L counts samples, T patches; E and W are learned matrices. The
[glossary](../glossary.md) explains Â, profiles, C1, C2, C2′ and their objectives.

The *active leaves* are a record's findings. The rule max-index selects the highest as the
[primary leaf](index.md#one-record-start-to-end) c\\*; the paper also names a replacement (E09). In the soft
target, a concept at distance D from c\\* has the weight exp(−D/σ). The *clamp* gives active leaves the weight
1, before the weights are normalised. A *cell* is the AUC of a task (super, sub, form, rhythm, CPSC2018) at 1,
10 or 100 % of the labels."""


def findings_page() -> str:
    """The catalogue, rule by rule."""
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
            "Source": entry.source,
            "Printed": entry.printed,
            "Found": entry.found,
            "Decided": entry.decision,
        }
        blocks += [f"**{name}:** {plain_markdown(text)}" for name, text in parts.items()]
    return "\n\n".join(blocks) + "\n"


if __name__ == "__main__":
    (PAGES / "findings.md").write_text(findings_page(), encoding="utf-8")
    (PAGES / "errata.md").write_text(errata_page(), encoding="utf-8")
