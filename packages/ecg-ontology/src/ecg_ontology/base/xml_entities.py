"""Entities of XML files: namespace abbreviations are allowed, nested or external entities are not."""

import re
from pathlib import Path
from xml.parsers import expat

from ecg_ontology.base.errors import SourceError

LONGEST = 1000
"""Largest number of characters in an entity. Namespaces have fewer."""
XML_FORBIDS = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML can't represent, even escaped."""


class _RootReached(Exception):  # noqa: N818 — ends the parse, no error
    """Signal that the declarations are complete. The RDF parser handles the rest."""


def refuse_nested_entities(path: Path) -> None:
    """Check that the entities in an XML file are short plain texts. Raises `SourceError` otherwise.

    Six nested entities, each with ten references to the previous entity, expand to a million texts. An
    external entity can name a file to fetch.
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
            return  # the RDF parser reports errors after the declarations
