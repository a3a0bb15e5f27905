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
from marecg.model.concept_scores import ConceptScores
from marecg.model.config import ModelConfig
from marecg.settings import Count, FromZero, Settings

LICENSE = "apache-2.0"
TAGS = ["ecg", "electrocardiography", "snomed-ct", "representation-learning", "feature-extraction"]


class Provenance(Settings):
    """Records, recipe and versions of a model's training.

    A training may start from the weights of another model. Then the recipe, steps, seconds and devices
    describe the last training only. Record counts include the records of the other model. Records that were
    used twice are counted twice, unless both corpora are identical.

    Attributes:
        recipe: name of the recipe.
        steps: number of optimiser steps.
        records: number of training records.
        sources: number of records from each published collection.
        others: number of records from other folders. The names of these folders aren't stored, because a
            name may identify a patient.
        origins: licence and address of each collection, by its name. Empty if not recorded.
        without_codes: collections whose codes were not used.
        support: number of records with each leaf concept, by abbreviation. None if not recorded.
        version: version of this package.
        torch: version of torch.
        seconds: duration of training, counted from the last resumption. None if not recorded.
        resumed: whether the training was resumed.
        devices: number and type of the devices.
        signals: hash of the corpus's signals. None if not recorded, or if there were several corpora.
        began_from: weights that the training started from. None for random weights.
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
    """Weights from which a training started.

    Attributes:
        name: name of the weights without a path.
        sha256: hash of the weights (`pretrained.weights_sha256`).
        provenance: how these weights were trained. None if not recorded.
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
    concept_scores: ConceptScores | None = None,
) -> ModelCard:
    """Return the card of a model.

    Args:
        config: settings of the encoder.
        ontology: concepts of the model.
        provenance: how the model was trained. None if not recorded.
        scores: results of evaluations.
        gscl: whether the model's prototypes were trained.
        concept_scores: concept scores of the model, if it has any.
    """
    by_ridge = ""
    if concept_scores:
        taught_by = plain_markdown(concept_scores.taught_by)
        by_ridge = f"| concept scores | prototypes, and a ridge regression on the codes of {taught_by} |\n"
    data = ModelCardData(library_name="marecg", license=LICENSE, tags=TAGS, pipeline_tag="feature-extraction")
    seconds = config.context / config.fs
    return ModelCard(f"""---
{data.to_yaml()}
---

# MAR-ECG encoder

A frozen encoder for 12-lead ECG. It turns a recording into a vector of {config.width} numbers (`rhythm`), and
a vector for each patch of {1000 * config.patch / config.fs:g} ms (`patch`).

| | |
|---|---|
| leads, in this order | {", ".join(LEADS)} |
| sampling rate, unit | {config.fs} Hz, mV; other rates are resampled |
| context | {seconds:g} s. Longer recordings are read in windows. Shorter recordings are padded |
| missing leads | any subset of leads works. Absent leads are hidden from the encoder, not filled with zeros |
| encoder | width {config.width}, {config.depth} layers, {config.heads} heads |
| ontology | {ontology.header.title} {ontology.header.version}, {len(ontology)} concepts |
| enumeration (SHA-256) | `{ontology.sha256}` |
| concepts | {"trained with GSCL, for `marecg predict`" if gscl else "not trained with GSCL"} |
{by_ridge}{_origin(provenance)}
{_records(provenance)}
## Usage

```python
import marecg

model = marecg.MarEcg.from_pretrained("FOLDER OR HUB ID")
embeddings = marecg.embed(model, signals, fs=500, leads=["I", "II", "V1", "V5"])
```

`signals` has the shape [records, leads, samples] and is in millivolts. Only safetensors and JSON files are
read. A missing or extra tensor, another lead order or another enumeration of the concepts raises an error.
{reached(scores, concept_scores.sha256 if concept_scores else "")}
## Limits

This is a research model, not a medical device. Do not base diagnosis, triage or monitoring on it. Its concept
probabilities show which concepts are closest to a recording. They are not calibrated, and they are not the
probability that a patient has a condition. For concepts with few training records or none, they are guesses.
The model was trained only on the collections above, with their devices, populations and coding habits. The
licence covers the weights only as far as the licences of the training records allow.
""")


def sources(provenance: Provenance) -> str:
    """Return a text with the number of training records from each source."""
    counts = [f"{name} {count}" for name, count in sorted(provenance.sources.items())]
    others = [f"{provenance.others} from other collections"] if provenance.others else []
    unknown = [
        f"unrecorded training records of `{ancestor.name}`"
        for ancestor in ancestors(provenance)
        if ancestor.provenance is None
    ]
    return ", ".join([*counts, *others, *unknown])


def ancestors(provenance: Provenance | None) -> Iterator[BeganFrom]:
    """Yield the weights that a training started from, then the weights that these started from, and so on."""
    while provenance is not None and provenance.began_from is not None:
        yield provenance.began_from
        provenance = provenance.began_from.provenance


def ancestor_text(weights: BeganFrom) -> str:
    """Describe the weights that a run started from: name, training and SHA-256."""
    training = "not recorded"
    if known := weights.provenance:
        training = f"recipe {known.recipe}, {known.steps} optimiser steps, {known.records} records"
    return f"{weights.name}: {training}; SHA-256 {weights.sha256}"


def _support(provenance: Provenance) -> str:
    """Return a table row with the number of labelled training records of each concept."""
    if provenance.support is None:
        return ""
    ranked = sorted(provenance.support.items(), key=lambda pair: (-pair[1], pair[0]))
    counts = ", ".join(f"{abbr} {count}" for abbr, count in ranked if count) or "none"
    absent = ", ".join(abbr for abbr, count in ranked if not count)
    without = f"; no records: {absent}" if absent else ""
    return f"\n| records per concept | {plain_markdown(counts + without)} |"


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
    """Return a table of collections with their numbers of records, licences, and whether codes were used."""
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
    others = [["other collections", provenance.others, "", "yes"]] if provenance.others else []
    lines = table(["collection", "records", "licence, home page", "codes used"], [*rows, *others], 4)
    return "\n".join(["", "## Training records", "", *lines, ""])
