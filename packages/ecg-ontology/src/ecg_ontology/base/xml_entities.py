"""Entities of XML files: namespace abbreviations are allowed, nested or external entities are not."""

import re
from pathlib import Path
from xml.parsers import expat

from ecg_ontology.base.errors import SourceError

LONGEST = 1000
"""Characters of an entity; a namespace has fewer."""
XML_FORBIDS = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML file can hold, whatever stands for them."""


class _RootReached(Exception):  # noqa: N818 — ends the parse, no error
    """What comes after the declarations is the RDF parser's."""


def refuse_nested_entities(path: Path) -> None:
    """Check that an XML file's entities are short plain texts. Raises `SourceError` otherwise.

    Six entities, each made of ten of the one before, become a million texts; one can name a file to fetch.
    """

    def declared(
        name: str, parameter: bool, value: str | None, base: str | None, system: str | None, *_: object
    ) -> None:
        if parameter or value is None or "&" in value or len(value) > LONGEST:
            problem = f"declares the entity {name!r}, which isn't a plain short text"
            raise SourceError(problem, where=path, remedy="Write out what it stands for")

    def begun(*_: object) -> None:
        raise _RootReached

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = declared
    parser.StartElementHandler = begun
    with path.open("rb") as file:
        try:
            parser.ParseFile(file)
        except (_RootReached, expat.ExpatError):
            return  # what is wrong beyond the declarations, the RDF parser says
