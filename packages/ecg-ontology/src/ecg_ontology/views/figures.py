"""Write figures of matplotlib as files, or as SVG in a page. Equal figures give equal bytes."""

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
"""Creator in the metadata of our pictures. Only pictures with this creator may be replaced."""
REM_PER_INCH = 5
"""Width of a figure on a wide page, in rem per inch of the figure."""
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
"""Patterns in matplotlib's SVG, with shorter replacements. They reduce an SVG to a third of its bytes."""


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of a size in inches. Raises `UsageError` if matplotlib isn't installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("drawing needs matplotlib", remedy='pip install "ecg-ontology[draw]"') from error
    return Figure(figsize=(width, height))


def save_figure(figure: "Figure", out: str | Path) -> Path:
    """Write a figure in the format of the suffix.

    Raises:
        UsageError: the suffix is unknown, or the file exists and wasn't written by ecg-ontology.
        OutputError: the file can't be written.
    """
    out = Path(out)
    if out.suffix not in ENDINGS:
        problem = f"the ending of a picture must be one of {', '.join(ENDINGS)}"
        raise UsageError(problem, where=out, remedy="Choose another file name")
    from matplotlib import rc_context

    refuse_unmarked(out, _MARK.encode())
    with replacing(out) as temporary, rc_context({"svg.hashsalt": "ccg", "svg.fonttype": "none"}):
        stamp = {".svg": "Date", ".pdf": "CreationDate"}.get(out.suffix)  # a date would change the bytes
        metadata: dict[str, Any] = {"Software" if out.suffix == ".png" else "Creator": _MARK}
        metadata |= {stamp: None} if stamp else {}
        figure.savefig(temporary, dpi=150, metadata=metadata)
    return out


def inline_svg(figure: "Figure", label: str) -> str:
    """Return a matplotlib figure as an SVG element of a page.

    Black becomes the colour of the surrounding text, and white becomes the CSS variable ``--back``, the
    colour of the page. The figure is therefore legible in dark mode and in print. Figures with different
    labels share no ids.

    Args:
        figure: the matplotlib figure.
        label: description for screen readers.

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
    """Return an inline style as SVG attributes, because content security policies forbid inline styles.

    The font family is left out, so that the text has the font of the page.
    """
    values = (rule.partition(":")[::2] for rule in style[1].split(";") if "family" not in rule)
    return " ".join(f'{name.strip()}="{value.strip()}"' for name, value in dict(values).items() if value)
