"""Read RDF files: their triples, and the line numbers of statements."""

import logging
import re
from pathlib import Path

import rdflib
from rdflib.term import Node

from ecg_base import refuse_pipe
from ecg_ontology.base.errors import SourceError
from ecg_ontology.base.reading import read_text
from ecg_ontology.base.xml_entities import refuse_nested_entities
from ecg_ontology.formats.rdf_writer import RDF_FORMATS

_BAD_SYNTAX = re.compile(r"at line (\d+) of <[^>]*>: Bad syntax \((.*?)\) at \^ in")
"""Pattern of rdflib's message for a syntax error in Turtle."""


def parse(path: Path) -> rdflib.Graph:
    """Return the triples of a file. Raises `SourceError` if the content doesn't match the suffix."""
    refuse_pipe(path, error=SourceError)
    graph = rdflib.Graph(store="SimpleMemory")  # six times as fast as a store with contexts
    rdf_log = logging.getLogger("rdflib.term")
    form = RDF_FORMATS[path.suffix]
    try:
        if form == "xml":
            refuse_nested_entities(path)
        rdf_log.setLevel(logging.ERROR)  # the checks report ill-typed literals
        graph.parse(path, format=form)
    except SourceError:
        raise
    except OSError as error:
        raise SourceError(f"cannot be read ({error.strerror})", where=path) from error
    except Exception as error:
        reason = " ".join(str(error).split())
        if syntax_error := _BAD_SYNTAX.match(reason):  # the rest of the message is content of the file
            reason = "line {}: {}".format(*syntax_error.groups())
        raise SourceError(f"is not RDF in {form}: {reason[:200]}", where=path) from error
    finally:
        rdf_log.setLevel(logging.NOTSET)
    return graph


class SourceLines:
    """Line numbers of statements in a Turtle file. RDF parsers don't keep them, so the text is searched."""

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._lines: dict[tuple[str, str], int] = {}
        text = read_text(path) if path.suffix == ".ttl" else ""
        prefixes = dict(re.findall(r"(?m)^@prefix\s+([\w-]*):\s*<([^>]*)>", text))
        subject = ""
        for number, line in enumerate(text.split("\n"), start=1):
            if head := re.match(r"(?:<([^>]+)>|([\w-]*):([\w-]+))\s", line):
                iri, prefix, local = head.groups()
                subject = iri or prefixes.get(prefix, "") + local
                self._lines.setdefault((subject, ""), number)
            elif statement := re.match(r"\s+ccg:(\w+)\s", line):
                self._lines.setdefault((subject, statement[1]), number)

    def of(self, subject: Node, word: str = "") -> str:
        """Return ``file:line`` of the statement about `subject` with the predicate ``ccg:<word>``.

        Without such a statement, return the line of the subject. If the line is unknown, return the file.
        """
        number = self._lines.get((str(subject), word)) or self._lines.get((str(subject), ""))
        return f"{self._name}:{number}" if number else self._name
