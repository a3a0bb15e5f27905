"""Escaping of untrusted text for tables (formulas), HTML and Markdown, so that it is never interpreted."""

from typing import TypeVar

Cell = TypeVar("Cell")
_FORMULA = ("=", "+", "-", "@", "\t")
"""First characters of formulas, and white space that spreadsheet programs strip before a formula."""
_RETURN = "␍"
_MARKDOWN = str.maketrans({"\\": r"\\", "|": r"\|", "[": r"\[", "`": r"\`", "<": "&lt;"})


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
