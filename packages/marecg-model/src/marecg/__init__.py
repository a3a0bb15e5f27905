"""MAR-ECG: ontology-guided representation learning for 12-lead ECG.

Load an encoder, embed ECGs and predict their concepts. Recipes are in `marecg.recipes`, training is in
`marecg.train.run`. The names in `__all__` are imported on first use, so that `import marecg` is fast.

Example:
    >>> import marecg
    >>> dir(marecg)
    ['ConceptShares', 'Corpus', 'EcgClassifier', 'EcgEmbedder', 'Embeddings', ..., 'predict', 'recipes']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marecg import recipes
    from marecg.classify.classifier import EcgClassifier
    from marecg.corpus.prepared import Corpus
    from marecg.embedding.embed import Embeddings, WideEmbeddings, embed
    from marecg.model.mar_ecg import MarEcg
    from marecg.model.names import list_models
    from marecg.use.concept_shares import ConceptShares
    from marecg.use.predict import predict
    from marecg.use.sklearn import EcgEmbedder

    __version__: str

__all__ = [
    "ConceptShares",
    "Corpus",
    "EcgClassifier",
    "EcgEmbedder",
    "Embeddings",
    "MarEcg",
    "WideEmbeddings",
    "embed",
    "list_models",
    "predict",
    "recipes",
]

_HOMES = {
    "ConceptShares": "marecg.use.concept_shares",
    "Corpus": "marecg.corpus.prepared",
    "EcgClassifier": "marecg.classify.classifier",
    "EcgEmbedder": "marecg.use.sklearn",
    "Embeddings": "marecg.embedding.embed",
    "MarEcg": "marecg.model.mar_ecg",
    "WideEmbeddings": "marecg.embedding.embed",
    "embed": "marecg.embedding.embed",
    "list_models": "marecg.model.names",
    "predict": "marecg.use.predict",
}


def __getattr__(name: str) -> Any:
    """Import a public name from its module on first use (PEP 562)."""
    if name == "recipes":
        return import_module("marecg.recipes")
    if name == "__version__":
        return import_module("importlib.metadata").version("marecg")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    suggestion = import_module("ecg_base").suggest(name, __all__, "dir(marecg) lists the names")
    raise AttributeError(f"module 'marecg' has no attribute {name!r}. {suggestion}", name=name)


def __dir__() -> list[str]:
    """Return the public names, so that editors can complete them."""
    return sorted([*__all__, "__version__"])
