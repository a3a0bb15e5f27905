"""Escape untrusted text for terminals, tables (formulas), HTML and Markdown."""

import re
from typing import TypeVar

Cell = TypeVar("Cell")
_FORMULA = ("=", "+", "-", "@", "\t")
"""First characters of a formula. A tab is included, because spreadsheet programs strip it before a
formula."""
_RETURN = "␍"
_MARKDOWN = str.maketrans({"\\": r"\\", "|": r"\|", "[": r"\[", "`": r"\`", "<": "&lt;"})

UNPRINTABLE = re.compile(
    "[\x00-\x08\n-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
"""Control characters, line breaks, bidirectional marks and zero-width characters."""


def printable(text: str, keep: str = "") -> str:
    r"""Escape all characters that would break, reorder or hide parts of a line on a terminal.

    Args:
        text: text from an untrusted source.
        keep: characters that are not escaped.

    Example:
        >>> printable(f"a{chr(10)}b{chr(0x202e)}c")
        'a\\nb\\u202ec'
    """
    return UNPRINTABLE.sub(lambda odd: odd[0] if odd[0] in keep else repr(odd[0])[1:-1], text)


def guarded(cell: Cell) -> Cell | str:
    """Put ``'`` before a table cell that spreadsheet programs would execute as a formula.

    Carriage returns become the symbol ␍, because CSV writers don't quote carriage returns and CSV readers
    take them for line breaks.

    Args:
        cell: a string. Any other value is returned unchanged.

    Example:
        >>> guarded("=1+1"), guarded("AF"), guarded(-1), guarded(f"a{chr(13)}b")
        ("'=1+1", 'AF', -1, 'a␍b')
    """
    if not isinstance(cell, str):
        return cell
    text = cell.replace("\r", _RETURN)
    return f"'{text}" if text.startswith(_FORMULA) else text


def unguarded(text: str) -> str:
    """Undo `guarded`: return the original text of a cell.

    Args:
        text: the text of a cell. Text that `guarded` did not change is returned unchanged.

    Example:
        >>> unguarded("'=1+1"), unguarded("'AF'"), unguarded("a␍b") == f"a{chr(13)}b"
        ('=1+1', "'AF'", True)
    """
    text = text.replace(_RETURN, "\r")
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA) else text


def plain_markdown(text: str) -> str:
    """Escape a text for a line or table cell of Markdown, so that it can't form HTML, links, images or code.

    Args:
        text: untrusted text. Line breaks become spaces.

    Example:
        >>> plain_markdown("<img src=x>")
        '&lt;img src=x>'
    """
    return " ".join(text.translate(_MARKDOWN).split())
