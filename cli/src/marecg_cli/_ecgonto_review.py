"""Commands for whoever curates the ontology: explain, measure coverage, compare revisions, draw."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import ecg_ontology
from marecg_cli._ecgonto_look import Rule, Sigma, Source
from marecg_cli._options import As, Profile, code_settings
from marecg_cli._output import result, result_json

if TYPE_CHECKING:
    from ecg_ontology.corpora import CorpusCodes


def coverage(
    corpus: Annotated[
        Path,
        typer.Argument(help="Headers (.hea), PTB-XL, a prepared corpus, .parquet of codes, .csv of counts."),
    ],
    sources: Annotated[
        list[str] | None, typer.Option(help="Columns of the .csv to add up; default: Ningbo, Georgia, PTB.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="What the corpus is if it is a table of a row per record and code; may be repeated: "
            "codes.id_column, codes.code_column, codes.vocabulary=snomed, icd10, omop or scp, "
            "codes.mapping=FILE to SNOMED CT, codes.concepts=FILE of OMOP.",
        ),
    ] = None,
    rule: Rule = "max-index",
    profile: Profile = "paper",
    ontology: Source = None,
    form: As = "text",
) -> None:
    """Show what the codes of a corpus hit and miss.

    With --set codes.id_column=… it is a table of a row per record and code, as for `marecg prepare --codes`.

    Example: ecgonto coverage dx_map.csv --sources Ningbo --sources Georgia
    """
    from ecg_ontology.corpora import corpus_of

    onto = ecg_ontology.load(ontology, profile)
    if set_:
        records = corpus_of(ecg_ontology.read_code_table(corpus, **code_settings(set_)))
    else:
        records = _read_corpus(corpus, sources or ())
    found = ecg_ontology.coverage_of(onto, records, rule)
    if form == "json":
        result_json(found.model_dump(mode="json"))
        return
    over = f" ({' + '.join(found.sources)})" if found.sources else ""
    by_status = ", ".join(f"{n} {status}" for status, n in found.by_status.items() if n)
    result(f"{found.corpus}{over}: {len(found.codes)} codes ({by_status})")
    for code in found.codes:
        where = " ".join(code.leaves) or ("root only" if code.status == "routed" else code.status)
        result(f"{code.records:>8}  {code.code:<16}  {code.label:<48.48}  {where}")
    result(f"leaves without support: {', '.join(found.unsupported) or 'none'}")
    if (use := found.records) is not None:
        result(f"records: {use.records}; {use.without_leaf} without a leaf")
        result(f"records whose c* is normal although a pathology is coded: {use.normal_primary}")
        histogram = ", ".join(f"{length}: {n}" for length, n in use.codes_per_record.items())
        result(f"records by number of codes: {histogram}")


def diff(
    old: Annotated[str, typer.Argument(help="A folder of sources, .ttl, .owl, .nt, .obo or .json.")],
    new: Annotated[str, typer.Argument(help="The revision of it.")],
    corpus: Annotated[Path | None, typer.Option(help="Also compare the targets of these records.")] = None,
    threshold: Annotated[
        float, typer.Option(min=0, help="Count codes whose target alone moves by less; 0 lists all.")
    ] = 0.05,
    sigma: Sigma = 1.0,
    rule: Rule = "max-index",
    profile: Profile = "paper",
    form: Annotated[
        Literal["text", "json", "markdown"],
        typer.Option("--format", help="markdown: for a pull request."),
    ] = "text",
) -> None:
    """Show what a revision changes in supervision. Exits 0 whether or not there is a difference.

    The summary comes first. Distances beyond twenty and codes that keep leaves and c* and move by less than
    --threshold in total variation are counted; --threshold 0 and --format json list them.

    Example: ecgonto diff before/ontology ontology --corpus prepared
    """
    before, after = ecg_ontology.load(old, profile), ecg_ontology.load(new, profile)
    records = None if corpus is None else _read_corpus(corpus)
    found = ecg_ontology.compare(before, after, records, sigma=sigma, rule=rule)
    if form == "json":
        result_json(found.model_dump(mode="json"))
        return
    from ecg_ontology.diff_text import difference_markdown, difference_text

    is_text = form == "text"
    result(
        difference_text(found, threshold) if is_text else difference_markdown(before, after, found, threshold)
    )


def _read_corpus(path: Path, sources: Sequence[str] = ()) -> "CorpusCodes":
    """The codes at `path`; those of a prepared corpus stand in its index."""
    index = path / "index.parquet"
    return ecg_ontology.read_corpus(index if index.is_file() else path, sources)
