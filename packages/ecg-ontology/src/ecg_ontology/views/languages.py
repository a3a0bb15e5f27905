"""Look up labels in other languages. English is the fallback."""

from collections import Counter
from collections.abc import Sequence

from ecg_ontology.graph.concepts import Concept, Name
from ecg_ontology.ontology import Ontology

ENGLISH = "en"


def label_in(concept: Concept, language: str = ENGLISH) -> Name:
    """Return the label of a concept in a language.

    If the label is missing, return the label in the parent language (``de`` for ``de-AT``), or in English.
    The `Name` contains the language of the label. The text of a retired concept ends in "(retired)".

    Args:
        concept: a concept of an ontology.
        language: BCP 47 tag.

    Example:
        >>> import ecg_ontology
        >>> af = ecg_ontology.load().node("AF")
        >>> label_in(af, "de-AT"), label_in(af, "ja").language
        (Name(text='Vorhofflimmern', language='de'), 'en')
    """
    tag = language.casefold()
    by_tag = {name.language.casefold(): name for name in concept.translations}
    while tag and tag not in by_tag:
        tag = tag.rpartition("-")[0]
    name = by_tag.get(tag, Name(text=concept.label, language=ENGLISH))
    return name.model_copy(update={"text": f"{name.text} (retired)"}) if concept.deprecated else name


def languages_of(onto: Ontology) -> dict[str, int]:
    """Return the number of concepts with a label, by language."""
    counts = Counter(name.language for node in onto.nodes for name in node.translations)
    return {ENGLISH: len(onto), **dict(sorted(counts.items()))}


def language_notes(onto: Ontology, concepts: Sequence[Concept], language: str) -> tuple[str, ...]:
    """Return notes about missing or unreviewed labels in a language."""
    used = [label_in(concept, language).language for concept in concepts]
    wanted = language.casefold()
    notes = []
    if missing := sum(wanted.partition("-")[0] != tag.casefold().partition("-")[0] for tag in used):
        available = ", ".join(languages_of(onto))
        share = f"{missing} of {len(used)} concepts"
        notes.append(f"no label in {language!r} for {share}, English is shown (available: {available})")
    for lang in dict.fromkeys(used):
        if lang in onto.header.unreviewed:
            notes.append(f"the labels in {lang!r} have not been reviewed clinically")
    return tuple(notes)
