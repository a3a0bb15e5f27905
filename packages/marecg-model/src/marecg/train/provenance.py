"""What a model says of its training, wherever it goes: no name that is not public."""

from ecg_ontology import Ontology
from marecg.corpus.prepared import Corpus
from marecg.corpus.supervision import labels
from marecg.model.card import Provenance
from marecg.read.published import catalogue
from marecg.recipes import Config


def provenance(
    config: Config,
    corpus: Corpus,
    ontology: Ontology,
    *,
    steps: int,
    seconds: float,
    resumed: bool,
    devices: str,
) -> Provenance:
    """Describe a run.

    A folder may be called after a patient, so only the collections of the catalogue are named; the records of
    others are counted.
    """
    public = {source for each in catalogue().values() for source in each.sources}
    counts = corpus.sources.counts()
    labelled_N = labels(corpus, config.sampling.without_codes).sum(0, dtype=int).tolist()
    return Provenance(
        recipe=config.name,
        steps=steps,
        records=len(corpus),
        sources={source: count for source, count in counts.items() if source in public},
        others=sum(count for source, count in counts.items() if source not in public),
        support={node.abbr: labelled_N[node.index] for node in ontology.nodes if not node.root},
        seconds=seconds,
        resumed=resumed,
        devices=devices,
    )
