"""Commands that bring a clinician's decisions into the routing tables."""

import datetime
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import ecg_ontology
from marecg_cli._ecgonto_build import place_to_name
from marecg_cli._ecgonto_look import Source
from marecg_cli._options import As, Profile
from marecg_cli._output import message, result, result_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ecg_ontology.routing_file import Decision

Folder = Annotated[Path, typer.Option("--tables", help="The folder of sources whose tables are edited.")]


def review(
    out: Annotated[Path | None, typer.Option(help="Write the sheet: .xlsx, .tsv or .csv.")] = None,
    apply: Annotated[Path | None, typer.Option(help="Apply the decisions of a sheet.")] = None,
    corpus: Annotated[
        Path | None, typer.Option(help="Say how many records of it carry each code: as for coverage.")
    ] = None,
    ontology: Source = None,
) -> None:
    """Write every mapping into a sheet for review, or apply a reviewed sheet to the routing tables.

    In the column `decision` write keep, change (predicate, comment), remove or add; sign with reviewer and
    date (YYYY-MM-DD). Nothing is written unless all decisions together leave a sound ontology.

    Example: ecgonto review --out review.xlsx --corpus dx_map.csv
    """
    from ecg_ontology.review import review_rows, write_review

    if (out is None) == (apply is None):
        raise ecg_ontology.UsageError("say either --out or --apply")
    if apply is not None:
        sources = Path(ontology or "ontology")
        _write(sources, apply)
    if out is not None:
        counts = None if corpus is None else ecg_ontology.read_corpus(corpus)
        rows = review_rows(ecg_ontology.load(ontology), counts)
        result(str(write_review(out, rows)))
        message(f"{len(rows)} mappings")


def add_code(
    code: Annotated[str, typer.Argument(help="SNOMED CT identifier, or vocabulary:code.")],
    label: Annotated[str, typer.Argument(help="The code's label.")],
    node: Annotated[
        str | None,
        typer.Argument(help="Index, abbreviation or name; without it, no node can carry the code."),
    ] = None,
    author: Annotated[str, typer.Option(help="Who decides.")] = "",
    comment: Annotated[str, typer.Option(help="The reason; a code without a node needs one.")] = "",
    predicate: Annotated[
        Literal[
            "skos:exactMatch", "skos:closeMatch", "skos:broadMatch", "skos:narrowMatch", "skos:relatedMatch"
        ],
        typer.Option(help="How code and node relate."),
    ] = "skos:closeMatch",
    table: Annotated[str, typer.Option(help="base, curated, or a further vocabulary.")] = "base",
    date: Annotated[str, typer.Option(help="YYYY-MM-DD; default: today.")] = "",
    ontology: Folder = Path("ontology"),
) -> None:
    """Add a code to a routing table: the row of its node, and that of the node's family.

    Example: ecgonto add-code icd10:I48.0 "paroxysmal atrial fibrillation" AF --author "A. Reviewer"
    """
    from ecg_ontology.revise import decision_of

    abbr = "" if node is None else ecg_ontology.find_concept(ecg_ontology.load(ontology), node).abbr
    cells = {
        "decision": "add",
        "table": table,
        "code": code,
        "label": label.strip(),
        "node": abbr,
        "predicate": predicate,
        "comment": comment,
        "reviewer": author,
        "date": date or datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
    }
    _write(ontology, [decision_of(cells, "--author" if not author else "")])


def match(
    codes: Annotated[
        Path, typer.Argument(help="A table with the columns code and label: .csv, .tsv, .xlsx.")
    ],
    out: Annotated[Path, typer.Option(help="The sheet of candidates: .xlsx, .tsv or .csv.")] = Path(
        "candidates.tsv"
    ),
    table: Annotated[str, typer.Option(help="Where accepted codes go: base, curated, …")] = "base",
    candidates: Annotated[int, typer.Option("--top", "-n", min=1, help="At most so many for each code.")] = 3,
    profile: Profile = "curated",
    ontology: Source = None,
    form: As = "text",
) -> None:
    """Propose concepts for new codes by the words of their labels. Nothing is applied.

    Decide `add` on the right candidates, sign them, and run `ecgonto review --apply` on the sheet.

    Example: ecgonto match new_codes.csv --out candidates.xlsx
    """
    from ecg_ontology.matching import candidate_rows, read_new_codes
    from ecg_ontology.review import write_review

    onto = ecg_ontology.load(ontology, profile)
    new = read_new_codes(codes, onto)
    rows = candidate_rows(onto, new, table, candidates)
    written = write_review(out, rows)
    if form == "json":
        result_json({"out": str(written), "candidates": [dict(row) for row in rows]})
    else:
        result(str(written))
    none = sum(not row["node"] for row in rows)
    message(f"{len(new)} new codes, {none} without a candidate; codes that have a row already are left out")


def _write(sources: Path, decided: "Sequence[Decision] | Path") -> None:
    from ecg_ontology.revise import apply_decisions, decision_counts

    files, decisions = apply_decisions(sources, decided)
    for path in files:
        result(str(path))
    build = " ".join(
        filter(None, ("ecgonto build", str(sources), place_to_name(sources), _next_version(sources)))
    )
    message(f"{decision_counts(decisions)}; now run: {build}")


def _next_version(sources: Path) -> str:
    """The option that replaces the lock; "" where there is none yet."""
    lock = sources / "enumeration.lock"
    stated = re.search(r"(?m)^version\t(\d+)\.(\d+)", lock.read_text("utf-8")) if lock.is_file() else None
    return f"--new-version {stated[1]}.{int(stated[2]) + 1}.0" if stated else ""
