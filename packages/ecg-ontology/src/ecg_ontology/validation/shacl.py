"""Validate an ontology with the SHACL shapes of its folder or the packaged shapes (extra ``shacl``)."""

import warnings
from pathlib import Path

from ecg_base import optional
from ecg_ontology.formats.rdf_writer import RDF_FORMATS
from ecg_ontology.formats.sources import graph_file
from ecg_ontology.formats.turtle import turtle_text
from ecg_ontology.loading import read_draft


def shacl_report(source: str | Path | None = None) -> tuple[bool, str]:
    """Return whether an ontology conforms to the shapes, and the validation report in Turtle.

    The shapes are in the folder of the source (see `load`), or else in the package. Raises `UsageError` if
    pySHACL is not installed.
    """
    pyshacl = optional("pyshacl", "SHACL needs pySHACL", 'pip install "ecg-ontology[shacl]"')
    draft = read_draft(source)
    path = None if source is None else Path(source)
    if path is not None and path.is_dir():
        path = graph_file(path)
    # Validate the file and not the draft, because a draft has a single value even if the file has two.
    as_stated = RDF_FORMATS.get(path.suffix) if path is not None else None
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # raised by rdflib in pySHACL
        conforms, report, _ = pyshacl.validate(
            str(path) if as_stated else turtle_text(draft),
            data_graph_format=as_stated or "turtle",
            shacl_graph=draft.shapes or read_draft(None).shapes,
            shacl_graph_format="turtle",
            serialize_report_graph="turtle",
        )
    return bool(conforms), report.decode() if isinstance(report, bytes) else str(report)
