"""Figures of matplotlib as files or SVG in a page; the same figure gives the same bytes."""

import re
from html import escape
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecg_base import UsageError, refuse_unmarked, replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".svg", ".png", ".pdf")
_MARK = "ecg-ontology"
"""By this creator a picture is one of ours, which may be replaced."""
REM_PER_INCH = 5
"""As wide a figure is on a page that has the room."""
_HEAD = (
    '<svg viewBox="0 0 {:g} {:g}" width="{:g}rem" role="img" fill="currentColor" '
    'stroke-linejoin="round" aria-label="{}">'
)
_PLAINER = {
    "#000000": "currentColor",
    "#ffffff": "var(--back, #fff)",
    "xlink:href": "href",
    ' target="_blank"': "",
    r"<style.*?</style>|<!--.*?-->| transform=.rotate\(-0 [^)]*\).": "",
    r"\s+": " ",
    r"(?<=[ \"])(-?\d+\.\d\d)\d+(?=[ \"])": r"\1",
}
"""What a page needs no more than this of, a third of the bytes."""


def new_figure(width: float, height: float) -> "Figure":
    """Return a figure of a size in inches. Raises `UsageError` if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("drawing needs matplotlib", remedy='pip install "ecg-ontology[draw]"') from error
    return Figure(figsize=(width, height))


def save_figure(figure: "Figure", out: str | Path) -> Path:
    """Write a figure by its file's ending. Raises `UsageError` over a foreign file, or `OutputError`."""
    out = Path(out)
    if out.suffix not in ENDINGS:
        raise UsageError("isn't a picture", where=out, remedy=f"End it in {', '.join(ENDINGS)}")
    from matplotlib import rc_context

    refuse_unmarked(out, _MARK.encode())
    with replacing(out) as temporary, rc_context({"svg.hashsalt": "ccg", "svg.fonttype": "none"}):
        stamp = {".svg": "Date", ".pdf": "CreationDate"}.get(out.suffix)  # left out: same picture, same bytes
        metadata: dict[str, Any] = {"Software" if out.suffix == ".png" else "Creator": _MARK}
        metadata |= {stamp: None} if stamp else {}
        figure.savefig(temporary, dpi=150, metadata=metadata)
    return out


def inline_svg(figure: "Figure", label: str) -> str:
    """Return a figure of matplotlib as an element of a page.

    Black becomes the colour of the text around it and white that of the page (``--back``), so that it is
    legible in the dark and in print. Figures with different labels share no id.

    Args:
        figure: of matplotlib.
        label: what a reader who can't see it is told.

    Example:
        >>> from matplotlib.figure import Figure
        >>> from ecg_ontology.views.figures import inline_svg
        >>> "aria-label" in inline_svg(Figure(figsize=(1, 1)), "nothing")
        True
    """
    from matplotlib import rc_context

    text = StringIO()
    with rc_context({"svg.hashsalt": label, "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
    drawn = text.getvalue().partition("</metadata>")[2]
    for pattern, plain in _PLAINER.items():
        drawn = re.sub(pattern, plain, drawn, flags=re.DOTALL)
    drawn = re.sub(r'style="([^"]*)"', _attributes, drawn)
    used = set(re.findall(r'#([\w-]+)["\)]', drawn))
    drawn = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", drawn)
    width, height = figure.get_size_inches()
    return _HEAD.format(72 * width, 72 * height, REM_PER_INCH * width, escape(label)) + drawn


def _attributes(style: re.Match[str]) -> str:
    """A style as attributes, which no page's policy forbids; the page chooses the font."""
    values = (rule.partition(":")[::2] for rule in style[1].split(";") if "family" not in rule)
    return " ".join(f'{name.strip()}="{value.strip()}"' for name, value in dict(values).items() if value)
