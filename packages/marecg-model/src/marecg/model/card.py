"""Model card: origin, loading, scores and limits of a model."""

from collections.abc import Iterator, Sequence
from importlib.metadata import version

from huggingface_hub import ModelCard, ModelCardData
from pydantic import Field

from ecg_base import plain_markdown
from ecg_ontology import Ontology
from ecg_records.signal.leads import LEADS
from marecg.base.markdown import table
from marecg.model.card_figures import Score, reached
from marecg.model.config import ModelConfig
from marecg.settings import Count, FromZero, Settings

LICENSE = "apache-2.0"
TAGS = ["ecg", "electrocardiography", "snomed-ct", "representation-learning", "feature-extraction"]


class Provenance(Settings):
    """Records, recipe and versions of a model's training.

    Where a training went on from given weights, recipe, steps, seconds and devices are of that training
    alone; what counts records counts those of before too: one that both read twice, unless both read the very
    same corpus.

    Attributes:
        recipe: its name.
        steps: optimiser steps.
        records: how many the corpus had.
        sources: how many of them came from which published collection.
        others: how many came from elsewhere; a folder's name may be a patient's, so there is none.
        origins: the licence of those collections and where they are published, by their names; none if nobody
            noted it.
        without_codes: the collections of which the signals alone were learnt from.
        support: how many of them bore which leaf concept, by its abbreviation; None if nobody noted it.
        version: of this package.
        torch: the version of torch.
        seconds: of training; since the last resumption, where there was one. None if nobody noted it.
        resumed: whether there was one.
        devices: how many of which kind.
        signals: what tells the corpus from others, a hash of its signals; None if nobody noted it, or if they
            were several.
        began_from: the weights that the training went on from; None where it began with random ones.
    """

    recipe: str
    steps: Count
    records: Count
    sources: dict[str, Count]
    others: Count = 0
    origins: dict[str, str] = Field(default_factory=dict)
    without_codes: tuple[str, ...] = ()
    support: dict[str, Count] | None = None
    version: str = Field(default_factory=lambda: version("marecg"))
    torch: str = Field(default_factory=lambda: version("torch"))
    seconds: FromZero | None = None
    resumed: bool = False
    devices: str | None = None
    signals: str | None = None
    began_from: "BeganFrom | None" = None


class BeganFrom(Settings):
    """Starting weights: their name without a path, and `pretrained.weights_sha256`.

    `provenance` is what they say that they were trained on; None where nobody noted it.
    """

    name: str
    sha256: str
    provenance: Provenance | None = None


def model_card(
    config: ModelConfig,
    ontology: Ontology,
    provenance: Provenance | None,
    scores: Sequence[Score] = (),
    *,
    gscl: bool,
) -> ModelCard:
    """Write the card of a model: its shape, its training records if known, and its scores.

    `gscl` says whether its prototypes were trained.
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
{_records(provenance)}
## How to load it

```python
import marecg

model = marecg.MarEcg.from_pretrained("FOLDER OR HUB ID")
embeddings = marecg.embed(model, signals, fs=500, leads=["I", "II", "V1", "V5"])
```

`signals` are millivolts, [records, leads, samples]. Only `safetensors` and JSON are read; a missing or an
extra tensor, another lead order or another enumeration of the concepts is an error.
{reached(scores)}
## Limits

This is a research model and no medical device: it gives no diagnosis. Its concept probabilities say which
concept a recording lies nearest to, not that a patient has it; they are not calibrated, and a concept that
no or few records taught is a guess. Diagnosis, triage and monitoring may not rest on it. It has seen only the
collections named above, with their devices, populations and coding habits. The licence covers the weights as
far as the licences of the training records do.
""")


def sources(provenance: Provenance) -> str:
    """Describe the numbers of training records by source."""
    counts = [f"{name} {count}" for name, count in sorted(provenance.sources.items())]
    others = [f"{provenance.others} of no published collection"] if provenance.others else []
    unknown = [
        f"those of `{ancestor.name}`, which are not recorded"
        for ancestor in ancestors(provenance)
        if ancestor.provenance is None
    ]
    return ", ".join([*counts, *others, *unknown])


def ancestors(provenance: Provenance | None) -> Iterator[BeganFrom]:
    """Yield the weights from which a training started, then those from which they started, and so on."""
    while provenance is not None and provenance.began_from is not None:
        yield provenance.began_from
        provenance = provenance.began_from.provenance


def ancestor_text(weights: BeganFrom) -> str:
    """Describe the weights from which a run started: name, training and SHA-256."""
    its = weights.provenance
    made = (
        f"recipe {its.recipe}, {its.steps} optimiser steps, {its.records} records" if its else "not recorded"
    )
    return f"{weights.name}: {made}; SHA-256 {weights.sha256}"


def _support(provenance: Provenance) -> str:
    """Return the number of labelled training records of each concept."""
    if provenance.support is None:
        return ""
    ranked = sorted(provenance.support.items(), key=lambda pair: (-pair[1], pair[0]))
    taught = ", ".join(f"{abbr} {count}" for abbr, count in ranked if count) or "none"
    never = ", ".join(abbr for abbr, count in ranked if not count)
    without = f"; without any: {never}" if never else ""
    return f"\n| records per concept | {plain_markdown(taught + without)} |"


def _origin(provenance: Provenance | None) -> str:
    if provenance is None:
        return "| trained on | not recorded |"
    weights = [f"| began from | {plain_markdown(ancestor_text(run))} |\n" for run in ancestors(provenance)]
    return (
        f"| recipe | `{plain_markdown(provenance.recipe)}`, {provenance.steps} optimiser steps |\n"
        f"{''.join(weights)}"
        f"| trained with | marecg {provenance.version} |\n"
        f"| trained on | {provenance.records} records: {plain_markdown(sources(provenance))} |"
        f"{_support(provenance)}"
    )


def _records(provenance: Provenance | None) -> str:
    """A row per collection: how many records, under which licence, and whether their codes were read."""
    if provenance is None or not provenance.origins:
        return ""
    rows = [
        [
            plain_markdown(name),
            count,
            plain_markdown(provenance.origins.get(name, "")),
            "no" if name in provenance.without_codes else "yes",
        ]
        for name, count in sorted(provenance.sources.items())
    ]
    others = [["of no published collection", provenance.others, "", "yes"]] if provenance.others else []
    lines = table(["collection", "records", "licence, home", "codes read"], [*rows, *others], 4)
    return "\n".join(["", "## What it was trained on", "", *lines, ""])
