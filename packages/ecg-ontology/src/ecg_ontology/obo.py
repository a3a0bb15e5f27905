"""OBO files, the form of the biomedical ontologies, as drafts. Needs the extra ``obo``."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ecg_ontology.domains import KINDS, draft_from_networkx
from ecg_ontology.drafts import Draft
from ecg_ontology.errors import SourceError, UsageError
from ecg_ontology.files import refuse_pipe

if TYPE_CHECKING:
    import networkx as nx

OBO = "http://purl.obolibrary.org/obo/"


def read_obo(path: Path) -> Draft:
    """Read an OBO file: terms become concepts, ``is_a`` the hierarchy, terms without a parent the families.

    Other relations count where they are named as a `Kind` is; the rest are no edges of a concept graph.
    Obsolete terms are left out. Indices follow the order of the file, families first.

    Raises:
        SourceError: it can't be read, is no OBO file, or holds no term.
        UsageError: obonet is not installed.
    """
    try:
        import obonet
    except ImportError as error:
        raise UsageError("reading OBO needs obonet", remedy='pip install "ecg-ontology[obo]"') from error
    refuse_pipe(path)
    try:
        with path.open(encoding="utf-8-sig") as file, _root_logger_kept():
            found = obonet.read_obo(file)  # a file, never an address
    except OSError as error:
        raise SourceError(f"cannot be read ({error.strerror})", where=path) from error
    except Exception as error:
        reason = " ".join(str(error).split())
        raise SourceError(f"is no OBO file: {reason[:200]}", where=path) from error
    if not found:
        raise SourceError("describes no concept", where=path, remedy="Give a file with [Term] stanzas")
    name = str(found.graph.get("ontology") or path.stem)
    iri = name if re.match(r"https?://", name) else f"{OBO}{quote(name)}"
    version = re.search(r"\d+([.-]\d+)*", str(found.graph.get("data-version", "")))
    return draft_from_networkx(_terms(found, path), iri, version=_three(version[0] if version else ""))


@contextmanager
def _root_logger_kept() -> Iterator[None]:
    """Keep obonet's remarks from giving the root logger a handler, which would print every message twice."""
    nowhere = logging.NullHandler()
    logging.root.addHandler(nowhere)
    try:
        yield
    finally:
        logging.root.removeHandler(nowhere)


def _three(version: str) -> str:
    """A version or a date as ``major.minor.patch``."""
    parts = [int(part) for part in re.findall(r"\d+", version)]
    return ".".join(map(str, [*parts, 0, 0, 0][:3]))


def _terms(found: "nx.MultiDiGraph[Any]", path: Path) -> "nx.MultiDiGraph[Any]":
    import networkx as nx

    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    for term, data in found.nodes(data=True):
        if "name" not in data:
            users = ", ".join(sorted({str(a) for a, b in found.edges() if b == term}))
            problem = f"names {term}, which is no term of the file (in {users[:80]})"
            raise SourceError(problem, where=path, remedy="Merge the imported terms into the file")
        graph.add_node(
            term,
            abbr=term,
            label=data["name"],
            iri=OBO + quote(str(term).replace(":", "_"), safe=""),
            synonyms={
                text[1]
                for each in data.get("synonym", ())
                if (text := re.match(r'"((?:[^"\\]|\\.)*)"', each))
            },
        )
    for a, b, relation in found.edges(keys=True):
        if relation == "is_a" or relation.replace("_", "").casefold() in KINDS:
            graph.add_edge(a, b, kind=relation if relation == "is_a" else relation.replace("_", ""))
    return graph
