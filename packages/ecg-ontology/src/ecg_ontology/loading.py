"""Loading of ontologies: `load`, drafts and errata."""

from pathlib import Path

from ecg_base import UsageError
from ecg_ontology.formats.bundle import read_bundle
from ecg_ontology.graph.concepts import Profile
from ecg_ontology.graph.drafts import Draft, Erratum
from ecg_ontology.ontology import Ontology

PACKAGED = Path(__file__).parent / "data" / "ccg.json"
"""The bundle of the wheel; `ecgonto build` writes none that is unsound."""
EXTENDED = "extended"
"""The name of the packaged graph that adds 26 findings to the 40 concepts."""


def load(source: str | Path | None = None, profile: Profile = "paper") -> Ontology:
    """Return the ontology of a source, in a profile.

    Args:
        source: a folder of sources; a ``.ttl``, ``.owl``, ``.rdf`` or ``.nt`` file (a graph
            without routing); or a bundle (``.json``). `None` for the packaged cardiac concept graph,
            ``"extended"`` for the packaged one with 26 more findings.
        profile: ``paper`` (default) keeps four codes as the paper prints them; ``curated`` mends them and
            holds the curators' decisions on doubted codes.

    Raises:
        SourceError: the source can't be read or does not describe a concept graph.
        UsageError: there is no such profile.

    Example:
        >>> import ecg_ontology
        >>> onto = ecg_ontology.load()
        >>> len(onto.nodes), len(onto.relations), onto.distances.shape
        (40, 57, (40, 40))
        >>> len(ecg_ontology.load("extended"))
        66
    """
    draft = read_draft(source)
    return Ontology(draft, profile, where=source, checked=source is None or str(source) == EXTENDED)


def read_draft(source: str | Path | None) -> Draft:
    """Read a source (`None`: the packaged bundle) unchecked."""
    if source is None:
        return read_bundle(PACKAGED)
    if str(source) == EXTENDED:
        return read_bundle(PACKAGED.with_name("ccg-extended.json"))
    if not str(source):
        raise UsageError("no source is named", remedy="Name one, or leave it out for the packaged ontology")
    path = Path(source)
    if path.suffix == ".json" and path.is_file():
        return read_bundle(path)
    from ecg_ontology.formats.sources import read_source

    return read_source(path)


def errata(source: str | Path | None = None) -> tuple[Erratum, ...]:
    """Return contradictions of the paper, the decisions on them, and the tests that hold these.

    Args:
        source: as for `load`.

    Example:
        >>> import ecg_ontology
        >>> errata()[0].id
        'E01'
    """
    return read_draft(source).errata
