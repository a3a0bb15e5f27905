"""Provenance of a model: how it was trained, without names that may identify patients.

Shapes: M records, N concepts.
"""

from collections import Counter
from operator import add

from ecg_ontology import Ontology
from ecg_records.readers.catalogue import catalogue
from marecg.corpus.prepared import Corpus
from marecg.corpus.sampling import labels
from marecg.corpus.trained_on import signals_sha256
from marecg.model.card import BeganFrom, Provenance
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
    """Return the provenance of a run's model.

    `seconds` is the duration of training since it began or, if `resumed`, since it was resumed. `devices` is
    the number and type of the devices, such as `2 × cuda`.

    Only collections in the catalogue are named, because the name of a folder may identify a patient. The
    records of other collections are only counted.
    """
    origins: dict[str, str] = {}  # licence and home by source name in the corpus
    for known in sorted(catalogue().values(), key=lambda data: -len(data.sources)):  # specific datasets last
        origins |= dict.fromkeys(known.sources, f"{known.licence or 'licence not known'}, {known.home}")
    counts = corpus.sources.counts()
    y_MN = labels(corpus, config.sampling.without_codes)
    labelled_N = y_MN.sum(0, dtype=int).tolist()
    public = {source: count for source, count in counts.items() if source in origins}
    return Provenance(
        recipe=config.name,
        steps=steps,
        records=len(corpus),
        sources=public,
        others=sum(counts.values()) - sum(public.values()),
        origins={source: origins[source] for source in public},
        without_codes=tuple(
            source for source in sorted(public) if not y_MN[corpus.sources.among({source})].any()
        ),
        support={node.abbr: labelled_N[node.index] for node in ontology.nodes if not node.root},
        seconds=seconds,
        resumed=resumed,
        devices=devices,
        signals=signals_sha256(corpus),
    )


def united(new: Provenance, origin: BeganFrom) -> Provenance:
    """Merge the provenance of a run with the provenance of its starting weights.

    If both were trained on the same corpus, its records count once. Otherwise the counts are added, because
    the overlap is unknown. The codes of a collection count as used if either training used them. If the
    starting weights have no numbers of records per concept, the result has none.
    """
    before = origin.provenance
    if before is None:
        return new.model_copy(update={"began_from": origin, "support": None})
    same_corpus = new.signals is not None and new.signals == before.signals
    merged = max if same_corpus else add
    read = {name for run in (new, before) for name in run.sources if name not in run.without_codes}
    sources = new.sources if same_corpus else dict(Counter(new.sources) + Counter(before.sources))
    support = None
    if new.support is not None and before.support is not None:
        support = {name: merged(count, before.support.get(name, 0)) for name, count in new.support.items()}
    return new.model_copy(
        update={
            "records": merged(new.records, before.records),
            "sources": sources,
            "others": merged(new.others, before.others),
            "signals": new.signals if same_corpus else None,
            "origins": before.origins | new.origins,
            "without_codes": tuple(name for name in sorted(sources) if name not in read),
            "support": support,
            "began_from": origin,
        }
    )
