"""What a record is near to, on the concept graph: a node's area and shade is its probability.

Shapes: N concepts.
"""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from ecg_ontology import Kind, Ontology, family_colours, node_positions
from marecg.report.svg import element, picture, words

WIDTH, HEIGHT = 900.0, 560.0
RING = "#c1121f"
"""Around the concepts that the record's codes name."""
STROKES: dict[Kind, dict[str, object]] = {
    Kind.family: {"stroke_opacity": 0.25, "stroke_width": 1},
    Kind.subtype_of: {"stroke_opacity": 0.6, "stroke_width": 1.5, "stroke_dasharray": "9 2"},
    Kind.manifestation_of: {"stroke_opacity": 0.6, "stroke_width": 1.5, "stroke_dasharray": "7 3 1 3"},
    Kind.sibling: {"stroke_opacity": 0.6, "stroke_width": 1.5, "stroke_dasharray": "2 3"},
    Kind.ring: {"stroke_opacity": 0.35, "stroke_width": 4},
}
NAMES = {
    Kind.family: "family",
    Kind.subtype_of: "subtype of",
    Kind.manifestation_of: "manifestation of",
    Kind.sibling: "sibling",
    Kind.ring: "ring of families",
}
HALO = {"stroke": "var(--back, #fff)", "stroke_width": 3, "paint_order": "stroke"}
"""Around names, which are legible over edges and nodes: the colour of the page, white outside of it."""
SMALLEST, LARGEST = 3.0, 20.0
"""Radii of a node without any probability and of the most probable one."""


def concept_graph(
    onto: Ontology, q_N: NDArray[np.float32], coded: Collection[int], label: str = "Concept graph"
) -> str:
    """The graph with q on it; `coded` are the concepts that the record's own codes name."""
    where = {
        index: (WIDTH / 2 + 212 * x, HEIGHT / 2 - 20 - 235 * y)
        for index, (x, y) in node_positions(onto).items()
    }
    radius_N = SMALLEST + (LARGEST - SMALLEST) * np.sqrt(q_N / max(float(q_N.max()), 1e-12))
    return picture(
        WIDTH,
        HEIGHT,
        *_edges(onto, where),
        *_nodes(onto, where, q_N, radius_N, coded),
        *_legend(),
        label=label,
    )


def _edges(onto: Ontology, where: dict[int, tuple[float, float]]) -> list[str]:
    drawn = []
    for edge in onto.relations:
        (x, y), (to_x, to_y) = where[edge.source], where[edge.target]
        # Bent, so that an edge over several leaves does not run through those between.
        bend = 0.0 if edge.kind in (Kind.family, Kind.ring) else 0.25
        middle_x = (x + to_x) / 2 - bend * (to_y - y)
        middle_y = (y + to_y) / 2 + bend * (to_x - x)
        path = f"M{x:.1f} {y:.1f}Q{middle_x:.1f} {middle_y:.1f} {to_x:.1f} {to_y:.1f}"
        drawn.append(element("path", d=path, fill="none", stroke="currentColor", **STROKES[edge.kind]))
    return drawn


def _nodes(
    onto: Ontology,
    where: dict[int, tuple[float, float]],
    q_N: NDArray[np.float32],
    radius_N: NDArray[np.floating],
    coded: Collection[int],
) -> list[str]:
    colours, most = family_colours(onto), max(float(q_N.max()), 1e-12)
    drawn, names = [], []
    for index in onto.by_family:
        node, (x, y), radius = onto.nodes[index], where[index], float(radius_N[index])
        shade = 0.35 + 0.65 * float(q_N[index]) / most
        circle = {"cx": x, "cy": y}
        title = element("title", f"{node.label}: q = {100 * q_N[index]:.1f} %")
        dot = element("circle", r=radius, fill=colours[index], fill_opacity=shade, **circle)
        ring = element("circle", r=radius + 3.5, fill="none", stroke=RING, stroke_width=2.5, **circle)
        strong = node.root or index in coded
        below = y + radius + (16 if index in coded else 13)
        bold = {"font_weight": "700"} if strong else {}
        names.append(words(node.abbr, x, below, 13.5, text_anchor="middle", **HALO, **bold))
        drawn.append(element("g", title, dot, ring if index in coded else ""))
    return drawn + names


def _legend() -> list[str]:
    drawn, x, y = [], 14.0, HEIGHT - 8
    for kind, name in NAMES.items():
        path = f"M{x:.0f} {y - 4:.0f}h34"
        drawn += [
            element("path", d=path, fill="none", stroke="currentColor", **STROKES[kind]),
            words(name, x + 40, y, 13.5),
        ]
        x += 62 + 7.2 * len(name)
    ring = element("circle", cx=x + 14, cy=y - 4, r=6, fill="none", stroke=RING, stroke_width=2.5)
    return [*drawn, ring, words("coded in the record", x + 26, y, 13.5)]
