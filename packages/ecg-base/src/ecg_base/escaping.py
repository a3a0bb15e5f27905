"""Escaping of untrusted text for terminals, tables (formulas), HTML and Markdown."""

import re
from typing import TypeVar

Cell = TypeVar("Cell")
_FORMULA = ("=", "+", "-", "@", "\t")
"""First characters of formulas, and white space that spreadsheet programs strip before a formula."""
_RETURN = "␍"
_MARKDOWN = str.maketrans({"\\": r"\\", "|": r"\|", "[": r"\[", "`": r"\`", "<": "&lt;"})

UNPRINTABLE = re.compile(
    "[\x00-\x08\n-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
"""Control characters, ends of lines, bidirectional marks and characters without a width."""


def printable(text: str, keep: str = "") -> str:
    r"""Return a text that a terminal shows on one line and in its order, with other characters escaped.

    Args:
        text: text that may contain names of others.
        keep: characters that are not escaped.

    Example:
        >>> printable(f"a{chr(10)}b{chr(0x202e)}c")
        'a\\nb\\u202ec'
    """
    return UNPRINTABLE.sub(lambda odd: odd[0] if odd[0] in keep else repr(odd[0])[1:-1], text)


def guarded(cell: Cell) -> Cell | str:
    """Return a table cell with ``'`` before a text that spreadsheet programs would take for a formula.

    A carriage return becomes its picture, because writers don't quote it and readers take it for an end of
    line.

    Args:
        cell: a text, or any other value, which is returned unchanged.

    Example:
        >>> guarded("=1+1"), guarded("AF"), guarded(-1), guarded(f"a{chr(13)}b")
        ("'=1+1", 'AF', -1, 'a␍b')
    """
    if not isinstance(cell, str):
        return cell
    text = cell.replace("\r", _RETURN)
    return f"'{text}" if text.startswith(_FORMULA) else text


def unguarded(text: str) -> str:
    """Return the text from before `guarded`.

    Args:
        text: a cell that may be guarded.

    Example:
        >>> unguarded("'=1+1"), unguarded("'AF'"), unguarded("a␍b") == f"a{chr(13)}b"
        ('=1+1', "'AF'", True)
    """
    text = text.replace(_RETURN, "\r")
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA) else text


def plain_markdown(text: str) -> str:
    """Return a text on a single line that opens no element, link, image or code in Markdown and ends no cell.

    Args:
        text: a name, or a sentence with names.

    Example:
        >>> plain_markdown("<img src=x>")
        '&lt;img src=x>'
    """
    return " ".join(text.translate(_MARKDOWN).split())
