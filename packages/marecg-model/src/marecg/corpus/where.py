"""Filter a table by an SQL expression (`marecg cohort --where`). DuckDB runs it without access to files."""

import json
import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ecg_base import EcgError, optional
from ecg_ontology import Ontology, find_concept
from marecg.errors import UsageError

logger = logging.getLogger(__name__)

MOST_CONDITIONS = 500
"""Maximum number of conditions that AND and OR join.

Each condition is also run separately, to warn if no row satisfies it.
"""
SHOWN = 5
"""Maximum number of values or suggestions in a message."""
PRIVATE = ("name", "identity", "id", "patient", "path")
"""Columns whose values are never printed, because a value may identify a patient."""
SPELLING = (
    "Write text as 'F' and an element of a list as '164889003' IN codes. A name that begins with a digit or "
    'is a word of SQL needs double quotes: "1AVB"'
)
PARTS = {"COLUMN_REF", "CONSTANT", "COMPARISON", "CONJUNCTION", "OPERATOR", "BETWEEN", "CAST", "TYPE", "CASE"}
"""Classes of nodes that an expression may contain, in addition to `FUNCTIONS`."""
FUNCTIONS = {
    *("+", "-", "*", "/", "//", "%", "~~", "!~~", "~~*", "!~~*", "like_escape", "regexp_matches"),
    *("contains", "list_contains", "list_has_any", "&&", "list_value", "array_to_string"),
    *("abs", "ceil", "floor", "round", "len", "length", "lower", "upper", "year", "month", "day"),
}
"""Functions and operators that an expression may contain. They take linear time and memory."""
SETTINGS = {
    "enable_external_access": False,
    "memory_limit": "1GB",
    "python_enable_replacements": False,
    "max_expression_depth": 100,
    "lock_configuration": True,
}
Tree = dict[str, Any]
"""Node of a parsed expression, in the format of DuckDB's `json_serialize_sql`."""


def parsed(where: str) -> Tree:
    """Parse an SQL expression.

    Raises `UsageError` if the expression is invalid, or has a part that isn't in `PARTS` or `FUNCTIONS`.
    """
    with _database() as database:
        start = "SELECT 1 WHERE ("
        text = database.execute("SELECT json_serialize_sql(?)", [f"{start}{where}\n)"]).fetchall()[0][0]
    tree = json.loads(text)
    if tree["error"]:
        position = min(int(tree.get("position", len(start))) - len(start), len(where)) + 1
        problem = tree["error_message"].partition(". ")[0]
        problem = "the expression ends too early" if position > len(where) else problem
        raise UsageError(f"--where, position {position}: {problem}", remedy=SPELLING)
    condition: Tree | None = tree["statements"][0]["node"].get("where_clause")
    if not where.strip() or condition is None:
        raise UsageError("--where must be one expression", remedy="Write AF AND age > 60")
    if (count := len(list(_conditions(condition)))) > MOST_CONDITIONS:
        problem = f"--where must have at most {MOST_CONDITIONS} conditions, got {count:,}"
        raise UsageError(problem, remedy="Write many values as id IN ('a', 'b')")
    for node in _nodes(tree):
        name = str(node.get("function_name") or node["class"].lower())
        if node["class"] not in PARTS and not (node["class"] == "FUNCTION" and name in FUNCTIONS):
            named = ", ".join(sorted(name for name in FUNCTIONS if name[0].isalpha()))
            raise UsageError(f"--where can't have {name}", remedy=f"Use columns, operators, and {named}")
        if name == "array_to_string" and [part.get("function_name") for part in _nodes(node)].count(name) > 1:
            raise UsageError(f"--where can't have {name} in {name}", remedy="Write its separator as a text")
    return condition


def columns(tree: Tree, known: Collection[str], onto: Ontology) -> set[str]:
    """Return the columns in `known` that an expression uses, in the spelling of `known`.

    Raises `UsageError` for an unknown column.
    """
    names = {node["column_names"][-1] for node in _nodes(tree) if node["class"] == "COLUMN_REF"}
    fields = {column.lower(): column for column in known}
    for name in sorted(name for name in names if name.lower() not in fields):
        words = {*name.lower().split("_")}
        similar = [fields[field] for field in fields if words & {*field.split("_")}]
        similar += [fields[field] for field in get_close_matches(name.lower(), fields, SHOWN, 0.6)]
        concepts = {node.abbr for node in onto.nodes}
        listed = ", ".join(field for field in known if field not in concepts)
        otherwise = f"The columns are {listed} and the abbreviations of concepts."
        remedy = f"Did you mean {' or '.join(dict.fromkeys(similar[:SHOWN]))}?" if similar else otherwise
        with suppress(EcgError):
            remedy = f"Write {_identifier(find_concept(onto, name).abbr)}, the concept's abbreviation."
        raise UsageError(f"--where: the table has no column {name!r}", remedy=f"{remedy} {SPELLING}")
    return {fields[name.lower()] for name in names}


def matching(table: pa.Table, where: str, tree: Tree, onto: Ontology) -> list[int]:
    """Return the numbers of the rows that satisfy an expression, ascending.

    Logs a warning for each comparison that no row satisfies. Raises `UsageError` if a part of the expression
    isn't a condition, or if types don't fit.

    Args:
        table: table with the columns of the expression.
        where: expression, an SQL condition.
        tree: syntax tree of the expression, `parsed(where)`.
        onto: ontology, whose abbreviations are columns of the table.
    """
    with _database() as database:
        relation = database.from_arrow(table.append_column("row number", pa.array(range(len(table)))))
        chosen = relation.filter(where).project('"row number"').fetchall()
        for leaf in _conditions(tree):
            text = _sql(database, leaf)
            if relation.project(text).types[0] != "BOOLEAN":
                problem = f"--where: {text} must be a condition that is true or false"
                raise UsageError(problem, remedy="Compare it, as in age > 60, or write a concept, as in AF")
            if leaf["class"] == "COLUMN_REF" or relation.filter(text).limit(1).fetchall():
                continue
            for name in columns(leaf, table.column_names, onto):
                values = "" if name in PRIVATE else f"; {name} {_values(table[name], name == 'date')}"
                logger.warning("no record has %s%s", text, values)
    return sorted(row for (row,) in chosen)


@contextmanager
def _database() -> Iterator[Any]:
    """Open an empty database in memory, and raise its errors as `UsageError`."""
    duckdb = optional("duckdb", "--where needs DuckDB", "Run pip install 'marecg[cohort]'")
    with duckdb.connect(config=SETTINGS) as database:
        try:
            yield database
        except duckdb.Error as error:
            raise UsageError(f"--where: {str(error).splitlines()[0].rstrip('.')}", remedy=SPELLING) from error


def _nodes(tree: Any) -> Iterator[Tree]:
    """Yield all nodes of a tree."""
    if isinstance(tree, dict) and "class" in tree:
        yield tree
    for child in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _nodes(child)


def _conditions(tree: Tree) -> Iterator[Tree]:
    """Yield the conditions that AND, OR and NOT combine. `!=` is replaced by `=`."""
    if tree["class"] == "CONJUNCTION" or tree["type"] == "OPERATOR_NOT":
        for child in tree["children"]:
            yield from _conditions(child)
    else:
        yield tree | ({"type": "COMPARE_EQUAL"} if tree["type"] == "COMPARE_NOTEQUAL" else {})


def _sql(database: Any, tree: Tree) -> str:
    """Return the SQL text of a parsed expression."""
    statement = json.loads(database.execute("SELECT json_serialize_sql('SELECT 1')").fetchall()[0][0])
    statement["statements"][0]["node"]["select_list"] = [tree]
    text = database.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(statement)]).fetchall()[0][0]
    return str(text).removeprefix("SELECT ")


def _identifier(name: str) -> str:
    return f'"{name}"' if name[0].isdigit() else name


def _values(column: pa.ChunkedArray, is_range: bool) -> str:
    """Describe the values of a column: the most frequent texts, or the range of numbers or dates."""
    known = pc.drop_null(pc.list_flatten(column) if pa.types.is_list(column.type) else column)
    if not len(known):
        return "is unknown for every record"
    if not pa.types.is_string(known.type) or is_range:
        low, high = pc.min_max(known).as_py().values()
        return f"is from {low} to {high}"
    counts = sorted(pc.value_counts(known).to_pylist(), key=lambda count: -count["counts"])
    more = f" and {len(counts) - SHOWN:,} more" * (len(counts) > SHOWN)
    return f"is {', '.join(repr(count['values']) for count in counts[:SHOWN])}{more}"
