"""Plausibility of comparisons in `marecg.corpus.expression`: warnings about absent values and columns.

Shapes: M records.
"""

import difflib
import logging
import re
from collections.abc import Iterable
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from ecg_ontology import Ontology
from marecg.errors import UsageError

logger = logging.getLogger(__name__)

SHOWN = 5
"""Maximum number of a column's values in a warning."""
PRIVATE = ("id", "patient", "path", "signal_hash")
"""Columns whose values are never printed. Records rarely share a value, and upper and lower case differ."""
SEXES = {"f": "F", "female": "F", "w": "F", "m": "M", "male": "M"}
DATES = ("%Y", "%Y-%m", "%Y-%m-%d", "%Y-%m-%dT%H", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S")
INFARCTIONS = ("mi", "infarction", "myocardial infarction")
"""Names for the set of infarctions, which excludes the ST and T changes of their family."""


def infarctions(onto: Ontology, name: str) -> list[int]:
    """Return all leaves that are infarctions if `name` means this set and isn't a concept's name, else [].

    Example:
        >>> import ecg_ontology
        >>> onto = ecg_ontology.load()
        >>> [onto.nodes[leaf].abbr for leaf in infarctions(onto, "MI")]
        ['AMI', 'OMI', 'AntMI', 'InfMI']
    """
    if name.lower() not in INFARCTIONS or any(node.abbr.lower() == name.lower() for node in onto.nodes):
        return []
    leaves = [node for node in onto.nodes if not node.root]
    texts = {node.index: " ".join((node.label, *(name.text for name in node.synonyms))) for node in leaves}
    return [leaf for leaf, text in texts.items() if "infarct" in text.lower()]


def sex(text: str) -> str:
    """Convert a sex to `F` or `M`. Raises `UsageError` for other words."""
    if text.lower() not in SEXES:
        raise UsageError(f"sex must be F or M, got {text!r}")
    return SEXES[text.lower()]


def date(text: str) -> str:
    """Return a date unchanged. Raises `UsageError` if it isn't a date in the format of the index."""
    if not any(_is_date(text, form) for form in DATES):
        raise UsageError(f"date must look like 2019, 2019-07 or 2019-07-31, got {text!r}")
    return text


def _is_date(text: str, form: str) -> bool:
    try:
        return datetime.strptime(text, form).strftime(form) == text
    except ValueError:
        return False


def squeezed(column: pa.Array) -> pa.Array:
    """Return texts with single spaces between words, as in tables of results."""
    return pc.replace_substring_regex(pc.utf8_trim_whitespace(column), r"\s+", " ")


def say_if_nobody(field: str, column: pa.Array) -> None:
    """Warn if no record has a value in a column."""
    if column.null_count == len(column):
        logger.warning("no record has a value of %s, so comparisons with it match nothing", field)


def say_if_none(field: str, column: pa.Array, chosen: pa.Array) -> pa.Array:
    """Return the records that a comparison chose. If there are none, warn and report the column's range."""
    if column.null_count < len(column) and not pc.any(chosen).as_py():
        low, high = (
            f"{end:.4g}" if isinstance(end, float) else end for end in pc.min_max(column).as_py().values()
        )
        logger.warning("no record matches this %s: values range from %s to %s", field, low, high)
    return chosen


def say_if_absent(field: str, column: pa.Array, text: str) -> None:
    """Warn if no record has a text, and list the most similar or most frequent texts."""
    alike = pc.equal(column, text) if field in PRIVATE else pc.equal(pc.utf8_lower(column), text.lower())
    if column.null_count == len(column) or pc.any(alike).as_py():
        return
    if field in PRIVATE:
        logger.warning("no record has %s %r", field, text)
        return
    counts = sorted(pc.value_counts(pc.drop_null(column)).to_pylist(), key=lambda count: -count["counts"])
    values = [str(count["values"]) for count in counts]
    near = [value for value in values if text.lower() in value.lower()]
    near += difflib.get_close_matches(text, values, SHOWN)
    shown = list(dict.fromkeys([*near, *values]))[:SHOWN]
    more = f" and {len(values) - len(shown):,} more" * (len(values) > len(shown))
    logger.warning("no record has %s %r; values are %s%s", field, text, ", ".join(map(repr, shown)), more)


def unknown_column(name: str, fields: Iterable[str]) -> str:
    """Return a hint for an unknown column: similar columns, or all columns."""
    fields = sorted(fields)
    words = name.lower().replace("_", " ").split()
    near = [field for field in fields if set(words) & set(field.split("_"))]
    near += difflib.get_close_matches(name.lower(), fields, 3, 0.5)
    if near:
        return f"Did you mean {' or '.join(dict.fromkeys(near[:3]))}?"
    listed = ", ".join(field for field in fields if not field.startswith("machine_"))
    return f"There are {listed}, and machine_…"


_WORDS = re.compile(r"[^\s()<>=!\"]+")


def column_meant(text: str, place: int) -> str | None:
    """Return the words before the next operator, such as the column in `heart rate > 100`.

    Example:
        >>> column_meant("AF and heart rate > 100", 8), column_meant("AF and age", 1)
        ('heart rate', None)
    """
    match = re.match(r'([^()<>=!"]*?)\s*(<=|>=|!=|=|<|>)', text[place - 1 :])
    if match is None:
        return None
    words = _WORDS.findall(match[1])
    return None if {"and", "or", "not"} & {word.lower() for word in words} else " ".join(words)
