"""The options that say what a table of codes is; they mean the same in every command that reads one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from marecg_cli._given import PLACE

if TYPE_CHECKING:
    from ecg_ontology import CodeTable

IdColumn = Annotated[str, typer.Option(help="The column of the table that names the record.")]
CodeColumn = Annotated[
    str, typer.Option(help="The column of the code, or of lists of codes; `code` or `codes` if empty.")
]
PatientColumn = Annotated[str, typer.Option(help="The column of the patient, if there is one.")]
Codes = Annotated[
    Literal["snomed", "icd10", "omop", "scp"], typer.Option("--vocabulary", help="What the codes are.")
]
Mapping = Annotated[
    Path | None,
    typer.Option(
        **PLACE,
        help="From codes or texts to SNOMED CT: a .csv with the columns code and snomed, or .sssom.tsv.",
    ),
]
Concepts = Annotated[
    Path | None,
    typer.Option(**PLACE, help="OMOP's CONCEPT table, for --vocabulary omop."),
]


def code_table(
    table: Path | None,
    id_column: str,
    code_column: str,
    patient_column: str,
    vocabulary: str,
    mapping: Path | None,
    concepts: Path | None,
) -> "CodeTable | None":
    """The table that was named; None where none was. Raises `UsageError` and `InputError`."""
    from ecg_ontology import UsageError, read_code_table

    if table is not None:
        return read_code_table(
            table, id_column or "id", code_column, patient_column, vocabulary, mapping, concepts
        )
    if id_column or code_column or patient_column or vocabulary != "snomed" or mapping or concepts:
        raise UsageError(
            "columns, vocabularies and mappings are of a table of codes", remedy="Name it, and its id column"
        )
    return None
