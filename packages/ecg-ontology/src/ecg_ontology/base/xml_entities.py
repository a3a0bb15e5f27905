"""Check the entities of XML files: allow namespace abbreviations, reject nested and external entities."""

import re
from pathlib import Path
from xml.parsers import expat

from ecg_ontology.base.errors import SourceError

LONGEST = 1000
"""Maximum number of characters in an entity. Namespaces have fewer."""
XML_FORBIDS = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML can't represent, even escaped."""


class _RootReached(Exception):  # noqa: N818 — ends the parse, no error
    """Exception that stops the parse at the root element, because all entities are declared before it."""


def refuse_nested_entities(path: Path) -> None:
    """Raise `SourceError` unless all entities in an XML file are short plain strings.

    Six nested entities, each with ten references to the previous entity, expand to a million strings. An
    external entity can make the parser fetch a file.
    """

    def declared(
        name: str, parameter: bool, value: str | None, base: str | None, system: str | None, *_: object
    ) -> None:
        if parameter or value is None or "&" in value or len(value) > LONGEST:
            problem = f"the entity {name!r} must be a short plain string"
            raise SourceError(problem, where=path, remedy="Replace the entity by its text")

    def begun(*_: object) -> None:
        raise _RootReached

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = declared
    parser.StartElementHandler = begun
    with path.open("rb") as file:
        try:
            parser.ParseFile(file)
        except (_RootReached, expat.ExpatError):
            return  # the RDF parser reads the file again, and reports other errors
