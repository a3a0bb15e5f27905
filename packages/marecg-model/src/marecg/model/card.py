"""The model card: where a model comes from, how to load it, and what it is not."""

from importlib.metadata import version

from huggingface_hub import ModelCard, ModelCardData
from pydantic import Field

from ecg_ontology import Ontology
from marecg.config import LEADS, ModelConfig, Settings

LICENSE = "apache-2.0"
TAGS = ["ecg", "electrocardiography", "snomed-ct", "representation-learning", "feature-extraction"]


class Provenance(Settings):
    """What a model was trained on.

    Attributes:
        recipe: its name.
        steps: optimiser steps.
        records: how many the corpus had.
        sources: how many of them came from which published collection.
        others: how many came from elsewhere; a folder's name may be a patient's, so there is none.
        support: how many of them bore which leaf concept, by its abbreviation; None if nobody noted it.
        version: of this package.
        torch: the version of torch.
        seconds: of training; since the last resumption, where there was one. None if nobody noted it.
        resumed: whether there was one.
        devices: how many of which kind.
    """

    recipe: str
    steps: int
    records: int
    sources: dict[str, int]
    others: int = 0
    support: dict[str, int] | None = None
    version: str = Field(default_factory=lambda: version("marecg-model"))
    torch: str = Field(default_factory=lambda: version("torch"))
    seconds: float | None = None
    resumed: bool = False
    devices: str | None = None


def model_card(
    config: ModelConfig, ontology: Ontology, provenance: Provenance | None, *, gscl: bool
) -> ModelCard:
    """Write the card of a model.

    Args:
        config: its shape.
        ontology: whose concepts it knows.
        provenance: what it was trained on; None if it wasn't, or nobody noted it.
        gscl: whether its prototypes were trained.
    """
    data = ModelCardData(library_name="marecg", license=LICENSE, tags=TAGS, pipeline_tag="feature-extraction")
    seconds = config.context / config.fs
    return ModelCard(f"""---
{data.to_yaml()}
---

# MAR-ECG encoder

A frozen encoder for 12-lead ECG. It turns a recording into one vector of {config.width} numbers (`rhythm`)
and one per {1000 * config.patch / config.fs:g}-ms patch (`patch`).

| | |
|---|---|
| leads, in this order | {", ".join(LEADS)} |
| sampling rate, unit | {config.fs} Hz, mV; other rates are resampled |
| context | {seconds:g} s; longer recordings are read in windows, shorter ones padded, the padding hidden |
| missing leads | any subset by name; absent leads are hidden, never zero-filled |
| encoder | width {config.width}, {config.depth} layers, {config.heads} heads |
| ontology | {ontology.header.title} {ontology.header.version}, {len(ontology)} concepts |
| enumeration (SHA-256) | `{ontology.sha256}` |
| concepts | {"trained with GSCL: `marecg predict` names the nearest" if gscl else "not trained with GSCL"} |
{_origin(provenance)}

## How to load it

```python
import marecg

model = marecg.MarEcg.from_pretrained("FOLDER OR HUB ID")
embeddings = marecg.embed(model, signals, fs=500, leads=["I", "II", "V1", "V5"])
```

`signals` are millivolts, [records, leads, samples]. Only `safetensors` and JSON are read; a missing or an
extra tensor, another lead order or another enumeration of the concepts is an error.

## Limits

This is a research model and no medical device: it gives no diagnosis. Its concept probabilities say which
concept a recording lies nearest to, not that a patient has it; they are not calibrated. It has seen only the
collections named above, with their devices, populations and coding habits. The licence covers the weights as
far as the licences of the training records do.
""")


def sources(provenance: Provenance) -> str:
    """How many records came from where, in words."""
    named = [f"{name} {count}" for name, count in sorted(provenance.sources.items())]
    others = [f"{provenance.others} of no published collection"] if provenance.others else []
    return ", ".join([*named, *others])


def _support(provenance: Provenance) -> str:
    """How many labelled records taught each concept."""
    if provenance.support is None:
        return ""
    ranked = sorted(provenance.support.items(), key=lambda pair: (-pair[1], pair[0]))
    taught = ", ".join(f"{abbr} {count}" for abbr, count in ranked if count) or "none"
    never = ", ".join(abbr for abbr, count in ranked if not count)
    return f"\n| records per concept | {taught}{f'; without any: {never}' if never else ''} |"


def _origin(provenance: Provenance | None) -> str:
    if provenance is None:
        return "| trained on | not recorded |"
    return (
        f"| recipe | `{provenance.recipe}`, {provenance.steps} optimiser steps |\n"
        f"| trained with | marecg-model {provenance.version} |\n"
        f"| trained on | {provenance.records} records: {sources(provenance)} |"
        f"{_support(provenance)}"
    )
