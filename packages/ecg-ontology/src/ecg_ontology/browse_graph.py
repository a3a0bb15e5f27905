"""The graph as an SVG picture in a page: its nodes are links, its colours those of every picture of it."""

from collections.abc import Iterator
from html import escape

from ecg_ontology.concepts import Kind
from ecg_ontology.draw import family_colours
from ecg_ontology.ontology import Ontology
from ecg_ontology.positions import node_positions

_DASHES = {Kind.subtype_of: "10 3", Kind.manifestation_of: "10 4 2 4", Kind.sibling: "2 4"}
_SCALE = 300
"""Points of the picture per unit of `node_positions`."""


def graph_svg(onto: Ontology) -> str:
    """Return the picture; each node leads to ``#c-<index>``."""
    return (
        '<svg viewBox="-620 -340 1240 680" role="img" aria-labelledby="graph-title">'
        f'<title id="graph-title">{escape(onto.header.title)}: {len(onto)} concepts</title>'
        f"{''.join(_edges(onto))}{''.join(_nodes(onto))}</svg>"
    )


def _places(onto: Ontology) -> dict[int, tuple[int, int]]:
    return {i: (round(_SCALE * x), round(-_SCALE * y)) for i, (x, y) in node_positions(onto).items()}


def _edges(onto: Ontology) -> Iterator[str]:
    places = _places(onto)
    for edge in onto.relations:
        (x, y), (to_x, to_y) = places[edge.source], places[edge.target]
        bend = 0.0 if edge.kind in (Kind.ring, Kind.family) else 0.25  # past the leaves between the two
        middle_x = round((x + to_x) / 2 + bend * (to_y - y))
        middle_y = round((y + to_y) / 2 - bend * (to_x - x))
        dashes = _DASHES.get(edge.kind, "none")
        width = {Kind.ring: 5, Kind.family: 1}.get(edge.kind, 2)
        yield (
            f'<path d="M{x} {y}Q{middle_x} {middle_y} {to_x} {to_y}" fill="none" stroke="currentColor" '
            f'stroke-opacity=".45" stroke-width="{width}" stroke-dasharray="{dashes}">'
            f"<title>{edge.kind}</title></path>"
        )


def _nodes(onto: Ontology) -> Iterator[str]:
    colours = family_colours(onto)
    for node in onto.nodes:
        x, y = _places(onto)[node.index]
        yield (
            f'<a href="#c-{node.index}"><circle cx="{x}" cy="{y}" r="{18 if node.root else 11}" '
            f'fill="{colours[node.index]}" stroke="currentColor"><title>{escape(node.label)}</title></circle>'
            f'<text x="{x}" y="{y + 32}" text-anchor="middle" font-size="17" fill="currentColor">'
            f"{escape(node.abbr)}</text></a>"
        )
