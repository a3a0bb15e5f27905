"""Define the commands `ecgonto coverage`, `ecgonto diff` and `ecgonto review`."""

import datetime
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import ecg_ontology
from ecg_base import UsageError
from marecg_cli._ecgonto_build import out_option
from marecg_cli._ecgonto_look import Rule, Sigma, Source
from marecg_cli._options import As, Profile
from marecg_cli._output import EXIT_FINDINGS, message, problem, result, result_json

if TYPE_CHECKING:
    from ecg_ontology.codes.corpus_codes import CorpusCodes
    from ecg_ontology.codes.coverage import Coverage
    from ecg_ontology.curation.routing_file import Decision

DEFAULT_SOURCES = "ontology"
"""Folder of sources that `ecgonto review` edits without --ontology."""


def coverage(
    corpus: Annotated[
        Path,
        typer.Argument(
            help="Folder of headers, PTB-XL, prepared corpus, .parquet of codes, or .csv of counts."
        ),
    ],
    sources: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to add up in a .csv of counts; may be repeated. [default: Ningbo, Georgia, PTB]"
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Describe a table with one row per record and code, for example "
            "codes.id_column=ecg or codes.vocabulary=icd10; may be repeated.",
        ),
    ] = None,
    rule: Rule = "max-index",
    profile: Profile = "paper",
    ontology: Source = None,
    form: As = "text",
) -> None:
    """Show which codes of a corpus are routed, that is, mapped to a concept of the graph.

    Example: ecgonto coverage dx_map.csv --sources Ningbo --sources Georgia
    """
    from ecg_ontology.codes.corpus_codes import corpus_of
    from ecg_ontology.codes.coverage import coverage_of

    onto = ecg_ontology.load(ontology, profile)
    if set_:
        from marecg_cli._settings import code_settings

        table = ecg_ontology.read_code_table(corpus, **code_settings(set_))
        records = corpus_of(table.path, table.codes.values())
    else:
        records = _read_corpus(corpus, sources or ())
    covered = coverage_of(onto, records, rule)
    _print_coverage(covered, form)
    if covered.codes and covered.by_status[ecg_ontology.Status.invalid] == len(covered.codes):
        problem("no valid codes were found. The column of codes must be text, with SNOMED CT identifiers")
        raise typer.Exit(EXIT_FINDINGS)


def _print_coverage(covered: "Coverage", form: As) -> None:
    if form == "json":
        result_json(covered.model_dump(mode="json"))
        return
    sources = f" ({' + '.join(covered.sources)})" if covered.sources else ""
    by_status = ", ".join(f"{n} {status}" for status, n in covered.by_status.items() if n)
    result(f"{covered.corpus}{sources}: {len(covered.codes)} codes ({by_status})")
    for code in covered.codes:
        reached = " ".join(code.leaves) or ("root only" if code.status == "routed" else code.status)
        result(f"{code.records:>8}  {code.code:<16}  {code.label:<48.48}  {reached}")
    result(f"leaves without records: {', '.join(covered.unsupported) or 'none'}")
    if (use := covered.records) is not None:
        result(f"records: {use.records}, {use.without_leaf} without a leaf")
        result(f"records with c* = normal although a pathology is coded: {use.normal_primary}")
        histogram = ", ".join(f"{length}: {n}" for length, n in use.codes_per_record.items())
        result(f"records by number of codes: {histogram}")


def diff(
    old: Annotated[str, typer.Argument(help="Folder of sources, or a .ttl, .owl, .nt or .json file.")],
    new: Annotated[str, typer.Argument(help="Revised ontology, in any of these formats.")],
    corpus: Annotated[
        Path | None, typer.Option(help="Also compare the targets of the records in this corpus.")
    ] = None,
    sigma: Sigma = 1.0,
    rule: Rule = "max-index",
    profile: Profile = "paper",
    form: Annotated[
        Literal["text", "json", "markdown"],
        typer.Option("--format", help="Output format; markdown is for a pull request."),
    ] = "text",
) -> None:
    """Show how a revision of the ontology changes the training targets.

    The text lists at most twenty changed distances. It counts, but doesn't list, codes that keep their leaves
    and c* and whose target moves by less than .05 in total variation. --format json lists all changes.

    Example: ecgonto diff before/ontology ontology --corpus prepared
    """
    before, after = ecg_ontology.load(old, profile), ecg_ontology.load(new, profile)
    records = None if corpus is None else _read_corpus(corpus)
    difference = ecg_ontology.compare(before, after, records, sigma=sigma, rule=rule)
    from ecg_ontology.curation.diff_text import difference_markdown, difference_text

    if form == "json":
        result_json(difference.model_dump(mode="json"))
    elif form == "text":
        result(difference_text(difference))
    else:
        result(difference_markdown(before, after, difference))


def review(
    out: Annotated[Path | None, typer.Option(help="Write the sheet: .xlsx, .tsv or .csv.")] = None,
    apply: Annotated[Path | None, typer.Option(help="Apply the decisions in this sheet.")] = None,
    add: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Code to add: SNOMED CT identifier or vocabulary:code."),
    ] = None,
    label: Annotated[str, typer.Option(help="Label of the added code.")] = "",
    node: Annotated[
        str,
        typer.Option(
            help="Concept of the added code by index, abbreviation or name; empty if no concept fits."
        ),
    ] = "",
    author: Annotated[str, typer.Option(help="Name of the person who decides.")] = "",
    comment: Annotated[str, typer.Option(help="Reason; required for a code without a concept.")] = "",
    predicate: Annotated[
        Literal[
            "skos:exactMatch", "skos:closeMatch", "skos:broadMatch", "skos:narrowMatch", "skos:relatedMatch"
        ],
        typer.Option(help="Relation between the added code and its concept."),
    ] = "skos:closeMatch",
    table: Annotated[
        str, typer.Option(help="Routing table of the added code: base, curated, or another vocabulary.")
    ] = "base",
    override: Annotated[
        str, typer.Option(metavar="REASON", help="Reason for a label that names another concept.")
    ] = "",
    corpus: Annotated[
        Path | None, typer.Option(help="Add the number of records with each code in this corpus.")
    ] = None,
    ontology: Source = None,
) -> None:
    """Write all mappings to a sheet, apply a reviewed sheet, or add a code.

    In the sheet, write keep, change, remove or add into the column `decision`, and fill in reviewer and date
    (YYYY-MM-DD). Either all decisions are applied or none. The command edits the routing tables in --ontology
    (default: the folder ontology).

    Example: ecgonto review --out review.xlsx --corpus dx_map.csv

    Example: ecgonto review --add icd10:I48.0 --label "paroxysmal AF" --node AF --author "A. Reviewer"
    """
    if sum(task is not None for task in (out, apply, add)) != 1:
        raise UsageError("exactly one of --out, --apply and --add is required")
    if apply is not None:
        _write(Path(ontology or DEFAULT_SOURCES), apply)
    elif add is not None:
        if not label.strip():
            raise UsageError("--add requires --label")
        cells = {"table": table, "code": add, "label": label.strip(), "predicate": predicate}
        cells |= {"comment": comment, "override": override.strip(), "reviewer": author}
        _add(Path(ontology or DEFAULT_SOURCES), cells, node)
    elif out is not None:
        from ecg_ontology.curation.review import review_rows, write_review

        counts = None if corpus is None else _read_corpus(corpus)
        rows = review_rows(ecg_ontology.load(ontology).draft, counts)
        result(str(write_review(out, rows)))
        message(f"{len(rows)} mappings")


def _add(sources: Path, cells: dict[str, str], node: str) -> None:
    from ecg_ontology.curation.revise import decision_of

    abbr = ecg_ontology.find_concept(ecg_ontology.load(sources), node).abbr if node else ""
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    decision = cells | {"decision": "add", "node": abbr, "date": today}
    _write(sources, [decision_of(decision, "" if cells["reviewer"] else "--author")])


def _write(sources: Path, decided: "Sequence[Decision] | Path") -> None:
    from ecg_ontology.curation.revise import apply_decisions, decision_counts

    files, decisions = apply_decisions(sources, decided)
    for path in files:
        result(str(path))
    build = " ".join(
        filter(None, ("ecgonto build", str(sources), out_option(sources), _next_version(sources)))
    )
    message(f"{decision_counts(decisions)}; now run: {build}")


def _next_version(sources: Path) -> str:
    """Return the option --new-version for a suggested `ecgonto build` command.

    The option is needed to replace the lock file. The result is "" if no lock file exists.
    """
    lock = sources / "enumeration.lock"
    version = re.search(r"(?m)^version\t(\d+)\.(\d+)", lock.read_text("utf-8")) if lock.is_file() else None
    return f"--new-version {version[1]}.{int(version[2]) + 1}.0" if version else ""


def _read_corpus(path: Path, sources: Sequence[str] = ()) -> "CorpusCodes":
    """Read the diagnostic codes of a table, a prepared corpus, PTB-XL or a folder of WFDB headers."""
    from ecg_ontology.codes.corpus_codes import corpus_of, read_corpus

    if not path.is_dir():
        return read_corpus(path, sources)
    for table in (path / "index.parquet", path / "ptbxl_database.csv"):
        if table.is_file():
            return read_corpus(table, sources)
    try:
        from ecg_records.dx import codes_in_headers
    except ModuleNotFoundError as error:
        if error.name != "ecg_records":
            raise
        remedy = "Run pip install ecg-records, or give a table of codes"
        problem = "reading headers needs the package ecg-records"
        raise UsageError(problem, where=path, remedy=remedy) from error
    return corpus_of(path, codes_in_headers(path))
