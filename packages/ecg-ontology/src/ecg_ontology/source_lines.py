"""Where a Turtle file states something. RDF parsers keep no lines, so the layout is searched for them."""

import re
from pathlib import Path

from ecg_ontology.files import read_text


class SourceLines:
    """The lines of the statements in a file."""

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._lines: dict[tuple[str, str], int] = {}
        if path.suffix == ".ttl":
            self._scan(read_text(path))

    def _scan(self, text: str) -> None:
        prefixes = dict(re.findall(r"(?m)^@prefix\s+([\w-]*):\s*<([^>]*)>", text))
        subject = ""
        for number, line in enumerate(text.split("\n"), start=1):
            if head := re.match(r"(?:<([^>]+)>|([\w-]*):([\w-]+))\s", line):
                iri, prefix, local = head.groups()
                subject = iri or prefixes.get(prefix, "") + local
                self._lines.setdefault((subject, ""), number)
            elif statement := re.match(r"\s+ccg:(\w+)\s", line):
                self._lines.setdefault((subject, statement[1]), number)

    def of(self, iri: str, predicate: str = "") -> str:
        """Return ``file:line`` of the statement, of its subject's entry, or the file alone."""
        number = self._lines.get((iri, predicate)) or self._lines.get((iri, ""))
        return f"{self._name}:{number}" if number else self._name
