"""The cardiac concept graph of MAR-ECG: routing, distances and soft targets.

`load` returns an `Ontology`, the argument of most other functions. The packages, from the lowest layer up::

    base         errors, tables, text folding
    graph        concepts, their numbering, routing of codes to concepts, soft targets
    formats      bundle, Turtle and RDF, SSSOM, networkx
    checks       the rules that a graph must keep
    (top)        Ontology and load
    statements   findings in the texts of devices and reports
    codes        codes of users and data sets, and how many of them the graph covers
    validation   SNOMED CT releases, OWL, SHACL, reports of findings
    curation     building, review sheets, decisions of reviewers, label matching, differences
    views        explanation, search, figures, browse page, exports

Importing the package imports no submodule. Each public name imports its module on first use. So routing a
code doesn't import NumPy, networkx or rdflib. ``__init__.pyi`` lists the public names with their modules.
"""

from importlib import import_module
from typing import Any

import lazy_loader

_attribute, _, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("ecg-ontology")
    if not name.startswith("_") and name not in __all__:  # `import` looks up submodules
        from ecg_base import suggest

        suggestion = suggest(name, __all__, "dir(ecg_ontology) lists the names")
        raise AttributeError(f"ecg_ontology has no {name!r}. {suggestion}", name=name)
    return _attribute(name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
