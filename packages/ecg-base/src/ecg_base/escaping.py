"""Texts of others stay text in tables and pages: no spreadsheet program calculates and no page opens them."""

from typing import TypeVar

Cell = TypeVar("Cell")
_FORMULA = ("=", "+", "-", "@", "\t")
"""How a formula begins, and what spreadsheet programs strip to one."""
_RETURN = "␍"
_MARKDOWN = str.maketrans({"\\": r"\\", "|": r"\|", "[": r"\[", "`": r"\`", "<": "&lt;"})


def guarded(cell: Cell) -> Cell | str:
    """Return a cell of a table; a text that would be taken for a formula has ``'`` before it.

    A carriage return, which no writer quotes and every reader takes for an end of line, becomes its picture.

    Args:
        cell: a text, or anything else, which stays as it is.

    Example:
        >>> guarded("=1+1"), guarded("AF"), guarded(-1), guarded(f"a{chr(13)}b")
        ("'=1+1", 'AF', -1, 'a␍b')
    """
    if not isinstance(cell, str):
        return cell
    text = cell.replace("\r", _RETURN)
    return f"'{text}" if text.startswith(_FORMULA) else text


def unguarded(text: str) -> str:
    """Return a text as it was before `guarded`.

    Args:
        text: a cell that may have been quoted.

    Example:
        >>> unguarded("'=1+1"), unguarded("'AF'"), unguarded("a␍b") == f"a{chr(13)}b"
        ('=1+1', "'AF'", True)
    """
    text = text.replace(_RETURN, "\r")
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA) else text


def plain_markdown(text: str) -> str:
    """Return a text in one line that ends no cell and opens no element, link, picture or code in Markdown.

    Args:
        text: a name, or a sentence with names.

    Example:
        >>> plain_markdown("<img src=x>")
        '&lt;img src=x>'
    """
    return " ".join(text.translate(_MARKDOWN).split())
