"""Expressions for `marecg cohort --where`: concepts and comparisons with `and`, `or`, `not`.

    expression = term {"or" term}        term = factor {"and" factor}
    factor = "not" factor | "(" expression ")" | FIELD OPERATOR VALUE | CONCEPT

A concept includes its descendants. `MI` is the set of infarctions (`plausible.INFARCTIONS`). The family that
also includes ST and T changes is `Ischemic`.

A comparison with an unknown value is neither true nor false, and so is its negation (Kleene logic). A record
without an age satisfies neither `age > 60` nor `not age > 60`.

The first expression with rate, P, PR, QRS, QT, QTc or axis measures all of them for every record. The results
are stored with the corpus.

Shapes: M records.
"""

import logging
import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ecg_base import EcgError
from ecg_ontology import Concept, find_concept, read_statement
from marecg.corpus import index, plausible
from marecg.corpus.intervals import INTERVALS, intervals
from marecg.corpus.prepared import Corpus
from marecg.errors import UsageError

logger = logging.getLogger(__name__)

ALIASES = {"date": "acquired", "seconds": "length", "statement": "statements", "says": "statements"}
"""Readable names for columns of the index. `seconds` is the length divided by the rate."""
SAYS = "says"
"""Field to compare with a concept: true if a statement of the electrocardiograph reports the concept."""
LISTS = ("codes", "statements", "notes", "hidden")
"""Columns of lists. A record matches if an element equals the value."""
EXAMPLE = "'AF and (LVH or LBBB) and age > 60 and sex = F'"
_TOKEN = re.compile(r'\s*(?:([()])|(<=|>=|!=|=|<|>)|"([^"]*)"|([^\s()<>=!"]+))')
COMPARE: dict[str, Callable[[pa.Array, pa.Scalar], pa.Array]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


class Token(NamedTuple):
    """Token of an expression, with its position from 1. `kind` is `mark`, `operator`, `quoted` or `word`."""

    kind: str
    text: str
    place: int


def matching(corpus: Corpus, text: str) -> NDArray[np.int64]:
    """Return the row numbers of the records that satisfy an expression, ascending.

    Raises `UsageError` with the position of a syntax error, an unknown field or an unknown concept.

    Example:
        >>> matching(corpus, "AF and not (LBBB or RBBB) and date >= 2019-07")  # doctest: +SKIP
        array([3, 17])
    """
    parser = _Parser(corpus, text)
    chosen = parser.expression()
    parser.end()
    return np.flatnonzero(pc.fill_null(chosen, False).to_numpy(zero_copy_only=False))


class _Parser:
    """Recursive-descent parser. Each method for a rule returns bool [M], null if unknown."""

    def __init__(self, corpus: Corpus, text: str) -> None:
        self.corpus, self.onto, self.text = corpus, corpus.ontology(), text
        self.tokens = list(_tokens(text))
        self.next = 0
        self.beyond = len(text) + 1
        fields = index.schema(corpus.folder)
        self.fields = {
            field.name: field.type
            for field in fields
            if field.name in LISTS or not pa.types.is_list(field.type)
        }
        self.fields |= dict.fromkeys(INTERVALS, pa.float64())

    def expression(self) -> pa.Array:
        chosen = self.term()
        while self.take("or"):
            chosen = pc.or_kleene(chosen, self.term())
        return chosen

    def term(self) -> pa.Array:
        chosen = self.factor()
        while self.take("and"):
            chosen = pc.and_kleene(chosen, self.factor())
        return chosen

    def factor(self) -> pa.Array:
        if self.take("not"):
            return pc.invert(self.factor())
        if self.take("("):
            chosen = self.expression()
            if not self.take(")"):
                raise self.error("a parenthesis isn't closed")
            return chosen
        token = self.word("a concept or a field")
        if self.next < len(self.tokens) and self.tokens[self.next].kind == "operator":
            return self.comparison(token)
        return self.concept(token)

    def concept(self, token: Token) -> pa.Array:
        kinds = plausible.infarctions(self.onto, token.text)
        if not kinds:
            concept = self.concept_of(token)
            kinds = [kind.index for kind in (concept, *self.onto.descendants(concept.abbr))]
        return pa.array(self.corpus.y[:, kinds].any(axis=1))

    def concept_of(self, token: Token) -> Concept:
        """Return the concept with a name. Raises `UsageError`, about the column if a column was meant."""
        if token.text.lower() in (*self.fields, *ALIASES):
            problem = f"position {token.place}: {token.text} is a column, and isn't compared with anything"
            raise UsageError(problem, remedy="Compare it, as in age > 60 and age < 80")
        try:
            return find_concept(self.onto, token.text)
        except EcgError as error:
            if column := plausible.column_meant(self.text, token.place):
                raise self.no_column(token.place, column) from error
            raise UsageError(f"position {token.place}: {error.problem}", remedy=error.remedy) from error

    def no_column(self, place: int, name: str) -> UsageError:
        """Build the error for an unknown column. Its name may be the name of a concept."""
        try:
            concept = find_concept(self.onto, name)
        except EcgError:
            pass
        else:
            problem = f"position {place}: {name!r} is the concept {concept.abbr}, which isn't compared"
            return UsageError(problem, remedy=f"Write {concept.abbr}, or not {concept.abbr}")
        remedy = plausible.unknown_column(name, {*self.fields, *ALIASES})
        return UsageError(f"position {place}: the corpus has no column {name!r}", remedy=remedy)

    def comparison(self, field: Token) -> pa.Array:
        operator = self.tokens[self.next].text
        self.next += 1
        value = self.word("a value")
        name = ALIASES.get(field.text.lower(), field.text.lower())
        if name not in self.fields:
            raise self.no_column(field.place, field.text)
        column = self.column(name)
        if field.text.lower() == SAYS:
            return self.says(column, operator, value)
        if pa.types.is_list(column.type):
            return self.any_of(field.text, column, operator, value)
        plausible.say_if_nobody(field.text, column)
        if pa.types.is_string(column.type):
            return self.of_text(name, column, operator, value)
        try:
            number = float(value.text)
        except ValueError as error:
            problem = f"position {value.place}: {value.text!r} isn't a number, and {field.text} is one"
            raise UsageError(problem, remedy="Give a number") from error
        if field.text.lower() == "seconds":
            column = pc.divide(column.cast(pa.float64()), self.column("fs"))
        chosen = COMPARE[operator](column.cast(pa.float64()), pa.scalar(number))
        return plausible.say_if_none(field.text, column, chosen)

    def of_text(self, name: str, column: pa.Array, operator: str, value: Token) -> pa.Array:
        """Compare a column of text with a value: dates by any operator, other texts by equality.

        Upper and lower case are equal, except in private columns. A sex or a date must be valid.
        """
        try:
            text = {"sex": plausible.sex, "acquired": plausible.date}.get(name, str)(value.text)
        except UsageError as error:
            raise UsageError(f"position {value.place}: {error.problem}", remedy=error.remedy) from error
        if name == "acquired":  # ISO 8601 sorts as text, also 2019 and 2019-07
            chosen = COMPARE[operator](pc.utf8_slice_codeunits(column, 0, len(text)), pa.scalar(text))
            return plausible.say_if_none("date", column, chosen)
        _refuse_order(f"{name} is text, which", operator, value)
        column, text = plausible.squeezed(column), " ".join(text.split())
        plausible.say_if_absent(name, column, text)
        if name in plausible.PRIVATE:  # names of two records may differ only in case
            return COMPARE[operator](column, pa.scalar(text))
        return COMPARE[operator](pc.utf8_lower(column), pa.scalar(text.lower()))

    def any_of(self, field: str, column: pa.ListArray, operator: str, value: Token) -> pa.Array:
        """Return whether each list holds the value, ignoring case. For `!=`, return the opposite."""
        _refuse_order("a list", operator, value)
        flat, text = plausible.squeezed(pc.list_flatten(column)), " ".join(value.text.split())
        if len(flat) == 0:
            logger.warning("no record has a value of %s", field)
        plausible.say_if_absent(field, flat, text)
        return _of_lists(column, pc.equal(pc.utf8_lower(flat), text.lower()), operator)

    def says(self, column: pa.ListArray, operator: str, value: Token) -> pa.Array:
        """Return whether a statement reports a concept or a descendant as present. For `!=`, negate."""
        _refuse_order("a concept", operator, value)
        concept = self.concept_of(value)
        kinds = {kind.index for kind in (concept, *self.onto.descendants(concept.abbr))}
        flat = pc.list_flatten(column)
        saying = [
            text
            for text in pc.unique(flat).to_pylist()
            if any(
                mention.present and mention.concept and mention.concept.index in kinds
                for mention in read_statement(self.onto, text or "")
            )
        ]
        return _of_lists(column, pc.is_in(flat, pa.array(saying, pa.string())), operator)

    def column(self, name: str) -> pa.Array:
        if name in INTERVALS:
            return intervals(self.corpus)[name].combine_chunks()
        column = index.of(self.corpus.folder, [name])[name].combine_chunks()
        if pa.types.is_floating(column.type):  # NaN means unknown
            return pc.if_else(pc.is_nan(column), None, column)
        return column

    def take(self, text: str) -> bool:
        """Consume a keyword or a parenthesis if it is next. Return whether it was."""
        if self.next == len(self.tokens):
            return False
        token = self.tokens[self.next]
        is_next = token.kind in ("word", "mark") and token.text.lower() == text
        self.next += is_next
        return is_next

    def word(self, what: str) -> Token:
        """Consume and return a name or a value."""
        if self.next == len(self.tokens):
            raise self.error(f"{what} is missing")
        token = self.tokens[self.next]
        if token.kind not in ("word", "quoted") or token.text.lower() in ("and", "or", "not"):
            raise self.error(f"{what} is missing before {token.text!r}")
        self.next += 1
        return token

    def end(self) -> None:
        """Check that no token is left."""
        if self.next < len(self.tokens):
            text = self.tokens[self.next].text
            raise self.error(f"{text!r} follows without and, or")

    def error(self, problem: str) -> UsageError:
        """Build an error with the position of the next token, or of the end."""
        place = self.tokens[self.next].place if self.next < len(self.tokens) else self.beyond
        remedy = f'Write such as {EXAMPLE}; quote what has spaces, as in "atrial fibrillation"'
        return UsageError(f"position {place}: {problem}", remedy=remedy)


def _refuse_order(what: str, operator: str, value: Token) -> None:
    if operator not in ("=", "!="):
        raise UsageError(f"position {value.place}: {what} has no order", remedy="Use = or !=")


def _of_lists(column: pa.ListArray, hits: pa.BooleanArray, operator: str) -> pa.Array:
    """Return whether each list has a hit among its elements. For `!=`, return the opposite."""
    rows = pc.filter(pc.list_parent_indices(column), pc.fill_null(hits, False))
    has = np.isin(np.arange(len(column)), rows.to_numpy(zero_copy_only=False))
    return pa.array(has if operator == "=" else ~has)


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    place = 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            start = place + len(text[place:]) - len(text[place:].lstrip())
            problem = f"position {start + 1}: {text[start]!r} begins nothing"
            raise UsageError(problem, remedy='Quotes come in pairs: "atrial fibrillation"')
        kind = ("mark", "operator", "quoted", "word")[(match.lastindex or 1) - 1]
        tokens.append(Token(kind, match[match.lastindex or 1], match.start(match.lastindex or 1) + 1))
        place = match.end()
    return tokens
