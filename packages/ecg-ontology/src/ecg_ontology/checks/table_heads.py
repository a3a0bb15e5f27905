"""Rules of tables: metadata above the rows, and author, date and confidence of rows."""

import datetime
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator

from ecg_ontology.checks.mappings import breach
from ecg_ontology.checks.rule import Breach, Chapter
from ecg_ontology.graph.drafts import Draft, RoutingRow
from ecg_ontology.graph.routing import BUILT_IN, SNOMED_IRIS, SNOMED_PREFIXES

TABLES: Chapter[Draft] = Chapter("Tables")

KNOWN_PREFIXES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(SNOMED_PREFIXES, SNOMED_IRIS),
    **{prefix: (iri,) for prefix, iri in BUILT_IN.items()},
}
"""Prefixes with a fixed meaning, and their allowed expansions."""
MIN_CONFIDENCE = 0.5
MAX_NAME_LETTERS = 200
SSSOM_SLOTS = frozenset(
    re.findall(
        r"\w+",
        "record_id subject_id subject_label subject_category predicate_id predicate_label predicate_modifier "
        "object_id object_label object_category mapping_justification author_id author_label reviewer_id "
        "reviewer_label creator_id creator_label reviewer_agreement license subject_type subject_source "
        "subject_source_version predicate_type object_type object_source object_source_version "
        "mapping_provider mapping_source mapping_cardinality cardinality_scope mapping_tool mapping_tool_id "
        "mapping_tool_version mapping_date publication_date review_date confidence curation_rule "
        "curation_rule_text subject_match_field object_match_field match_string subject_preprocessing "
        "object_preprocessing similarity_score similarity_measure see_also issue_tracker_item other comment",
    )
)
"""Columns of SSSOM 1.1, "Mapping"."""


@TABLES.rule(
    "CCG-E318",
    "Every prefix has its usual expansion",
    why="With an unusual expansion, other programs read other codes.",
    fix="Restore the expansion in the curie_map, or use another prefix",
)
def _foreign_expansion(draft: Draft) -> Iterator[Breach]:
    for name, head in draft.tables.items():
        for prefix, iri in head.prefixes.items():
            known = KNOWN_PREFIXES.get(prefix, ())
            if known and iri not in known:
                yield Breach(name, f"{name} must expand {prefix} to {known[0]}, got {iri}", name)


@TABLES.rule(
    "CCG-W319",
    "Every prefix in a table is in its curie_map",
    why="Otherwise, other programs can't expand the codes.",
    fix="Add the prefix with its IRI to the curie_map",
)
def _undeclared_prefix(draft: Draft) -> Iterator[Breach]:
    used: dict[str, dict[str, RoutingRow]] = defaultdict(dict)
    for row in (*draft.mappings, *draft.crosswalks):
        prefix = row.code.rpartition(":")[0] if ":" in row.code else "snomedct"
        used[row.where.partition(":")[0]].setdefault(prefix, row)
    for name, head in draft.tables.items():
        declared = {prefix.casefold() for prefix in head.prefixes}
        aliases = {prefix for prefix, iri in head.prefixes.items() if iri in SNOMED_IRIS}
        for prefix, row in used[name].items() if head.prefixes and head.version else ():
            if prefix.casefold() not in declared and not (prefix == "snomedct" and aliases):
                yield breach(row, f"has the prefix {prefix}, which {name} must declare in its curie_map")


@TABLES.rule(
    "CCG-E320",
    "Dates, authors and confidences are valid",
    why="A date in the future, a blank author or a confidence of 7.5 is a mistake.",
    fix="Correct the date, author or confidence of the row",
)
def _impossible_statement(draft: Draft) -> Iterator[Breach]:
    tomorrow = (datetime.datetime.now(tz=datetime.UTC) + datetime.timedelta(days=1)).date()
    for row in (*draft.mappings, *draft.crosswalks):
        if row.date and not _is_past(row.date, tomorrow):
            yield breach(row, f"must have a date up to today, got {row.date}")
        if problem := bad_name(row.author):
            yield breach(row, f"has an invalid author: {problem}")
        if row.confidence and not _is_share(row.confidence):
            yield breach(row, f"must have a confidence between 0 and 1, got {row.confidence}")


@TABLES.rule(
    "CCG-W321",
    "A row has a confidence of at least one half",
    why="A doubtful mapping is used for training like any other mapping.",
    fix="Review the row. Then raise its confidence, or remove it",
)
def _doubted_row(draft: Draft) -> Iterator[Breach]:
    for row in draft.mappings:
        if _is_share(row.confidence) and float(row.confidence) < MIN_CONFIDENCE:
            yield breach(row, f"should have a confidence of at least {MIN_CONFIDENCE}, got {row.confidence}")


@TABLES.rule(
    "CCG-W322",
    "Every column of a table is an SSSOM column",
    why="A misspelt column is ignored.",
    fix="Correct the name, or declare it as an extension slot",
)
def _unknown_column(draft: Draft) -> Iterator[Breach]:
    for name, head in draft.tables.items():
        for column in head.columns:
            if column not in SSSOM_SLOTS and f"extension_definitions.{column}" not in head.slots:
                yield Breach(name, f"{name} has the column {column!r}, which isn't part of SSSOM", name)


@TABLES.rule(
    "CCG-W323",
    "All tables use the same edition of SNOMED CT",
    why="A code may have another meaning in another edition.",
    fix="Map the codes of a single edition, and state it in all tables",
)
def _other_edition(draft: Draft) -> Iterator[Breach]:
    stated = {
        name: head.slots["subject_source"]
        for name, head in draft.tables.items()
        if "subject_source" in head.slots
    }
    editions = {name: text for name, text in stated.items() if text.startswith(tuple(SNOMED_PREFIXES))}
    first = next(iter(editions.items()), ("", ""))
    for name, edition in editions.items():
        if edition != first[1]:
            message = f"{name} must use the edition {first[1]} like {first[0]}, got {edition}"
            yield Breach(name, message, name)


def _is_past(date: str, tomorrow: datetime.date) -> bool:
    """Return whether a text is a date up to `tomorrow`, which is already today in other time zones."""
    try:
        return datetime.date.fromisoformat(date) <= tomorrow
    except ValueError:
        return False


def _is_share(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False


def bad_name(author: str) -> str:
    """Return why a text can't be the name of a person, or "". An empty text is allowed."""
    if author and not author.strip():
        return "the name must not be blank"
    if len(author) > MAX_NAME_LETTERS:
        return f"the name must have at most {MAX_NAME_LETTERS} letters, got {len(author)}"
    invalid = next(
        (letter for letter in author if unicodedata.category(letter) in ("Cc", "Cf", "Co", "Cs")), ""
    )
    return f"the name must not contain the character U+{ord(invalid):04X}" if invalid else ""
