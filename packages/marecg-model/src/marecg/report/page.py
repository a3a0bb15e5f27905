"""Build an HTML page that needs no network: sections, figures, tables, and a table of contents.

HTML is passed as `Markup`. All other text is escaped by the templates and by the methods of `Markup`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from ecg_base import plain_markdown

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Content security policy of a page. Browsers then block scripts and requests."""
STYLE = Path(__file__).with_name("page.css")
TEMPLATES = Environment(
    loader=PackageLoader("marecg.report"),
    autoescape=select_autoescape(("html.j2",)),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
)
TEMPLATES.filters["plain"] = plain_markdown


@dataclass(frozen=True)
class Figure:
    """Pictures (SVG with labels) with a common caption.

    Attributes:
        name: name of the picture files, without number and suffix.
        notes: text below each picture.
        kind: CSS classes in page.css. A figure with `wide-only` is hidden in narrow windows, and a
            figure with `narrow-only` in wide windows.
        aside: HTML next to the pictures.
    """

    name: str
    pictures: Sequence[str]
    caption: str
    notes: Sequence[str] = ()
    kind: str = "sheet"
    aside: str = ""

    def __html__(self) -> str:
        """Return the HTML of the figure."""
        return _part("figure", self)


@dataclass(frozen=True)
class Section:
    """Section of a page: heading, figures and HTML."""

    title: str
    parts: Sequence[Figure | Markup]

    @property
    def id(self) -> str:
        """Return the anchor for the table of contents."""
        return slug(self.title)

    @property
    def figures(self) -> list[Figure]:
        """Return the figures among the section's parts."""
        return [part for part in self.parts if isinstance(part, Figure)]


def page(
    title: str,
    lead: str,
    sections: Sequence[Section],
    language: str = "en",
    contents: str = "Contents",
    kind: str = "",
) -> str:
    """Return the HTML of a whole page.

    Args:
        title: title of the page.
        lead: paragraph below the title.
        sections: sections with distinct titles, because ids are made from the titles.
        language: language of the page.
        contents: heading of the table of contents.
        kind: CSS class in page.css. With `record`, the page is printed on a single sheet.
    """
    return TEMPLATES.get_template("page.html.j2").render(
        title=title,
        lead=lead,
        sections=sections,
        language=language,
        contents=contents,
        kind=kind,
        policy=Markup(POLICY),  # noqa: S704 (ours)
        style=Markup(STYLE.read_text(encoding="utf-8")),  # noqa: S704 (ours)
    )


def heading(text: str) -> Markup:
    """Return a heading within a section."""
    return Markup("<h3>{}</h3>").format(text)


def paragraph(text: str, kind: str = "") -> Markup:
    """Return a paragraph of plain text."""
    return Markup('<p class="{}">{}</p>').format(kind, text) if kind else Markup("<p>{}</p>").format(text)


def code(command: str) -> Markup:
    """Return a block with a command line."""
    return Markup("<pre>{}</pre>").format(command)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[int] = ()) -> Markup:
    """Return a table. Cells are texts, or pictures as `Markup`. The columns `numeric` are right-aligned."""
    return _part("table", head, rows, numeric)


def facts(values: Mapping[str, str]) -> Markup:
    """Return a list of names and values, laid out next to each other."""
    return _part("facts", values)


def folded(summary: str, body: Figure | Markup) -> Markup:
    """Return a block that is folded to its summary, and opens on a click."""
    return Markup("<details><summary>{}</summary>{}</details>").format(summary, body)


def slug(title: str) -> str:
    """Turn a title into an id or file name."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"


def _part(name: str, *values: Any) -> Markup:
    macro = getattr(TEMPLATES.get_template("parts.html.j2").module, name)
    return Markup(macro(*values))  # noqa: S704 (the template escapes)
