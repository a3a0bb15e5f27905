"""MAR-ECG: ontology-guided representation learning for 12-lead ECG.

The names in `__all__` load on first use, so that `import marecg` stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marecg import recipes
    from marecg.model.mar_ecg import MarEcg
    from marecg.use.embed import Embeddings, WideEmbeddings, embed
    from marecg.use.predict import predict
    from marecg.use.sklearn import EcgEmbedder

__all__ = ["EcgEmbedder", "Embeddings", "MarEcg", "WideEmbeddings", "embed", "predict", "recipes"]

_HOMES = {
    "EcgEmbedder": "marecg.use.sklearn",
    "Embeddings": "marecg.use.embed",
    "MarEcg": "marecg.model.mar_ecg",
    "WideEmbeddings": "marecg.use.embed",
    "embed": "marecg.use.embed",
    "predict": "marecg.use.predict",
}


def __getattr__(name: str) -> Any:
    """Fetch a public name from its home (PEP 562)."""
    if name == "recipes":
        return import_module("marecg.recipes")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'marecg' has no attribute {name!r}")
