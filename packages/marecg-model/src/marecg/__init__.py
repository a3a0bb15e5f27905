"""MAR-ECG: ontology-guided representation learning for 12-lead ECG.

The names in `__all__` load on first use, so that `import marecg` stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marecg import recipes
    from marecg.estimator import EcgEmbedder
    from marecg.inference import Embeddings, embed, predict
    from marecg.model import MarEcg

__all__ = ["EcgEmbedder", "Embeddings", "MarEcg", "embed", "predict", "recipes"]

_HOMES = {
    "EcgEmbedder": "marecg.estimator",
    "Embeddings": "marecg.inference",
    "MarEcg": "marecg.model",
    "embed": "marecg.inference",
    "predict": "marecg.inference",
}


def __getattr__(name: str) -> Any:
    """Fetch a public name from its home (PEP 562)."""
    if name == "recipes":
        return import_module("marecg.recipes")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'marecg' has no attribute {name!r}")
