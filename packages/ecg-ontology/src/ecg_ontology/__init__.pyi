# ruff: noqa: I001 - a line for each module; what the package shows, and where it is

from .codes.code_mapping import CodeMapping as CodeMapping
from .codes.code_tables import CodeTable as CodeTable, read_code_table as read_code_table
from .graph.coded_records import CodedRecords as CodedRecords
from .graph.concepts import (
    Concept as Concept,
    Finding as Finding,
    Kind as Kind,
    Profile as Profile,
    Relation as Relation,
    Route as Route,
    Severity as Severity,
    Status as Status,
)
from .curation.diff import compare as compare
from .base.errors import EcgError as EcgError
from .views.explain import explain_codes as explain_codes
from .views.exports import export as export
from .loading import load as load
from .curation.findings import validate as validate
from .ontology import Ontology as Ontology
from .statements.machines import read_statement as read_statement
from .views.search import find_concept as find_concept, search_concepts as search_concepts

__version__: str
