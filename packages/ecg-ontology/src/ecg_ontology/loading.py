"""Load ontologies, drafts and errata."""

from pathlib import Path

from ecg_base import UsageError
from ecg_ontology.formats.bundle import read_bundle
from ecg_ontology.graph.concepts import Profile
from ecg_ontology.graph.drafts import Draft, Erratum
from ecg_ontology.ontology import Ontology

PACKAGED = Path(__file__).parent / "data" / "ccg.json"
"""Bundle in the package. It isn't checked again, because `ecgonto build` writes only valid bundles."""
EXTENDED = "extended"
"""Name of the packaged graph that extends the 40 concepts by 26 findings."""


def load(source: str | Path | None = None, profile: Profile = "paper") -> Ontology:
    """Load an ontology.

    Args:
        source: a folder of sources, a bundle (``.json``), or a graph without routing (``.ttl``, ``.owl``,
            ``.rdf`` or ``.nt``). `None` loads the packaged cardiac concept graph. ``"extended"`` loads the
            packaged graph with 26 more findings.
        profile: assignment of codes to concepts. ``paper`` (default) assigns four codes as printed in the
            paper, although their official labels name other concepts. ``curated`` corrects these four codes,
            and applies the curators' decisions on disputed codes.

    Raises:
        SourceError: the source can't be read or doesn't describe a concept graph.
        UsageError: the profile is unknown.

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
    """Read a source (see `load`) without checking it. `None` reads the packaged bundle."""
    if source is None:
        return read_bundle(PACKAGED)
    if str(source) == EXTENDED:
        return read_bundle(PACKAGED.with_name("ccg-extended.json"))
    if not str(source):
        raise UsageError("source must not be empty", remedy="Omit it to load the packaged ontology")
    path = Path(source)
    if path.suffix == ".json" and path.is_file():
        return read_bundle(path)
    from ecg_ontology.formats.sources import read_source

    return read_source(path)


def errata(source: str | Path | None = None) -> tuple[Erratum, ...]:
    """Return the contradictions in the paper, each with this ontology's decision and a test of the decision.

    Args:
        source: see `load`.

    Example:
        >>> import ecg_ontology
        >>> errata()[0].id
        'E01'
    """
    return read_draft(source).errata
