"""SVG as text, with colours in its elements, so that a picture can be used outside its page.

Lines and words use `currentColor`, the colour of the surrounding text: dark on light, light on dark.

Shapes: L points of a line, R rows and C columns of a map.
"""

from html import escape

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike

ACCENT = "#2f6fb3"
"""Legible on white and on black."""
FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
UNITS = 100
"""Steps per unit of length in a polyline: whole numbers are short."""


def element(name: str, *children: str, **attributes: object) -> str:
    """Return an SVG element.

    Underscores in attribute names become hyphens, and a trailing underscore is dropped.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(number(value))}"' for key, value in attributes.items()
    )
    return f"<{name}{written}>{''.join(children)}</{name}>" if children else f"<{name}{written}/>"


def picture(width: float, height: float, *children: str, label: str, unit: str = "") -> Markup:
    """Return a picture with a label for screen readers. With the unit `mm`, it prints true to scale."""
    size = {"width": f"{number(width)}{unit}", "height": f"{number(height)}{unit}"} if unit else {}
    view = f"0 0 {number(width)} {number(height)}"
    attributes = {"viewBox": view, **size, "role": "img", "aria_label": label, "font_family": FONT}
    return Markup(element("svg", *children, **attributes))  # noqa: S704 (texts are escaped as they are written)


def words(text: str, x: float, y: float, size: float, **attributes: object) -> str:
    """Return a text with its baseline at (x, y)."""
    return element("text", escape(text), x=x, y=y, font_size=size, **{"fill": "currentColor", **attributes})


def polyline(x_L: ArrayLike, y_L: ArrayLike) -> str:
    """Return a line's path data, in steps of 1/UNITS, broken at values that aren't finite.

    Rounding errors don't accumulate, because every step connects two rounded points.
    """
    x, y = np.asarray(x_L, np.float64) * UNITS, np.asarray(y_L, np.float64) * UNITS
    finite = np.isfinite(x) & np.isfinite(y)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], finite.astype(np.int8), [0]])))
    path = ""
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        points = np.rint(np.stack([x[start:stop], y[start:stop]], axis=1)).astype(int)
        steps = np.diff(points, axis=0).ravel().tolist()
        text = " ".join(map(str, steps)).replace(" -", "-")  # a minus sign needs no space before it
        path += f"M{points[0, 0]} {points[0, 1]}" + (f"l{text}" if steps else "h0")
    return path


def standalone(svg: str) -> str:
    """Return a page's picture as the text of a separate file, on a white background."""
    head = '<svg xmlns="http://www.w3.org/2000/svg" '
    head += "" if "font-family" in svg.partition(">")[0] else f'font-family="{FONT}" '
    return str(svg).replace("<svg ", head, 1).replace("var(--back, #fff)", "#fff")


def number(value: object) -> str:
    """Format a number to 1/1000 in as few characters as possible; other values are unchanged."""
    if not isinstance(value, float | np.floating):
        return str(value)
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
