"""Write SVG as text. Elements have their colours as attributes, so a picture can be used outside its page.

Lines and words use `currentColor`, the colour of the surrounding text: dark on light, light on dark.

Shapes: L points of a line.
"""

from html import escape

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike

ACCENT = "#2f6fb3"
"""Colour that is legible on white and on black."""
FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
UNITS = 100
"""Number of steps per unit of length in a polyline. Path data is shorter in whole steps."""


def element(name: str, *children: str, **attributes: object) -> str:
    """Return an SVG element.

    Underscores in attribute names become hyphens, and a trailing underscore is dropped.
    """
    text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(number(value))}"' for key, value in attributes.items()
    )
    return f"<{name}{text}>{''.join(children)}</{name}>" if children else f"<{name}{text}/>"


def picture(width: float, height: float, *children: str, label: str, unit: str = "") -> Markup:
    """Return a picture with a label for screen readers. With the unit "mm", it is printed true to scale."""
    size = {"width": f"{number(width)}{unit}", "height": f"{number(height)}{unit}"} if unit else {}
    view = f"0 0 {number(width)} {number(height)}"
    attributes = {"viewBox": view, **size, "role": "img", "aria_label": label, "font_family": FONT}
    return Markup(element("svg", *children, **attributes))  # noqa: S704 (texts are escaped as they are written)


def words(text: str, x: float, y: float, size: float, **attributes: object) -> str:
    """Return a text with its baseline at (x, y)."""
    return element("text", escape(text), x=x, y=y, font_size=size, **{"fill": "currentColor", **attributes})


def polyline(x_L: ArrayLike, y_L: ArrayLike) -> str:
    """Return a line as data of an SVG path. Its coordinates are integers, `UNITS` times x and y.

    The line is broken at values that aren't finite. Rounding errors don't accumulate, because points are
    rounded before their differences are taken.
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
    """Return the text of a file with a page's picture, on a white background."""
    head = '<svg xmlns="http://www.w3.org/2000/svg" '
    head += "" if "font-family" in svg.partition(">")[0] else f'font-family="{FONT}" '
    return str(svg).replace("<svg ", head, 1).replace("var(--back, #fff)", "#fff")


def number(value: object) -> str:
    """Format a float with at most three decimals. Any other value is converted by `str`."""
    if not isinstance(value, float | np.floating):
        return str(value)
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
