"""One HTML page that needs no network: sections, figures with captions, tables, a table of contents."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from marecg.report.svg import Picture

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Browsers hold the page to it: no scripts, and nothing is fetched."""
STYLE = Path(__file__).with_name("page.css")


@dataclass(frozen=True)
class Figure:
    """Pictures with one caption that says how to read them.

    Attributes:
        name: what its files are called.
        pictures: SVG, each with a label.
        caption: plain text.
        notes: HTML under each picture, if any.
        kind: how they are laid out: classes of page.css: `sheet`, `along`, `panels`, `wide`, `beside`,
            `four`, `five`; with `wide-only` or `narrow-only` where another figure takes its place.
        aside: HTML beside the picture.
    """

    name: str
    pictures: Sequence[str]
    caption: str
    notes: Sequence[str] = ()
    kind: str = "sheet"
    aside: str = ""

    def html(self) -> str:
        """The figure as the page shows it."""
        pictures = self.pictures
        if self.notes:
            noted = zip(pictures, self.notes, strict=True)
            pictures = [f"<div>{each}<div>{note}</div></div>" for each, note in noted]
        body = "".join(pictures) + self.aside
        caption = f"<figcaption>{escape(self.caption)}</figcaption>" if self.caption else ""
        return f'<figure><div class="{self.kind}">{body}</div>{caption}</figure>'


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it: figures and HTML."""

    title: str
    parts: Sequence[Figure | str]

    @property
    def id(self) -> str:
        """Where the table of contents leads to."""
        return slug(self.title)

    @property
    def figures(self) -> list[Figure]:
        """The figures among its parts."""
        return [part for part in self.parts if isinstance(part, Figure)]


def page(
    title: str, lead: str, sections: Sequence[Section], language: str = "en", contents: str = "Contents"
) -> str:
    """The whole page; titles of sections differ from each other, and so do their ids."""
    items = "".join(f'<li><a href="#{each.id}">{escape(each.title)}</a></li>' for each in sections)
    body = "".join(
        f'<section id="{each.id}"><h2>{escape(each.title)}</h2>'
        + "".join(part.html() if isinstance(part, Figure) else part for part in each.parts)
        + "</section>\n"
        for each in sections
    )
    style = STYLE.read_text(encoding="utf-8")
    header = f'<header><h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p></header>'
    return (
        f'<!doctype html>\n<html lang="{language}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n"
        f'<body><div class="page">{header}\n'
        f'<nav aria-label="{escape(contents)}"><ol>{items}</ol></nav>\n'
        f"<main>{body}</main></div></body></html>\n"
    )


def heading(text: str) -> str:
    """A heading within a section."""
    return f"<h3>{escape(text)}</h3>"


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[int] = ()) -> str:
    """A table of text, and of pictures where a cell is a `Picture`; `numeric` columns go right."""

    def line(cells: Sequence[str], tag: str) -> str:
        written = []
        for place, cell in enumerate(cells):
            content = cell if isinstance(cell, Picture) else escape(cell)
            kind = ' class="n"' if place in numeric else ""
            written.append(f"<{tag}{kind}>{content}</{tag}>")
        return f"<tr>{''.join(written)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f'<div class="scroll"><table><thead>{line(head, "th")}</thead><tbody>{body}</tbody></table></div>'


def facts(values: Mapping[str, str]) -> str:
    """Names and values that stand side by side as far as the window goes."""
    body = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in values.items()
    )
    return f'<dl class="facts">{body}</dl>'


def folded(summary: str, body: str) -> str:
    """HTML that a click unfolds."""
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"


def slug(title: str) -> str:
    """A title as an id and as the name of a file."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"
