"""Draw the graph, and a soft target on the graph, as SVG, PNG or PDF.

Roots are concepts that represent families, and leaves represent findings. Families have different shapes, and
the colours of Okabe and Ito, which colour-blind readers can distinguish.
Kinds of edges have different strokes.

Shapes: N concepts, P control points of a curve, X two coordinates.
"""

from collections.abc import Collection
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecg_ontology.graph.concepts import Kind
from ecg_ontology.ontology import Ontology
from ecg_ontology.views.explain import Explanation
from ecg_ontology.views.figures import new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#F0E442", "#0072B2", "#999999")
RING = "#c1121f"
"""Colour of the ring around marked concepts."""
SHAPES = "osDh^v<>"
STROKES: dict[Kind, Any] = {
    Kind.family: "solid",
    Kind.subtype_of: (0, (6, 1)),
    Kind.manifestation_of: "dashdot",
    Kind.sibling: "dotted",
    Kind.ring: "solid",
}

_BENDS = (0.25, -0.25, 0.4, -0.4, 0.55, -0.55)
"""Offsets of the middle of an edge from the straight line, relative to its length, in the order to try."""
_CLEARANCE = 0.06
"""Minimum distance of an edge from other concepts and their names, in units of the positions."""
_NAME_BELOW = 0.08
"""Distance of a name below its concept."""
_READABLE = 200
"""Maximum number of concepts for which edges are bent around concepts. Larger pictures are unreadable
anyway."""

Positions = dict[int, tuple[float, float]]


def family_colours(onto: Ontology) -> tuple[str, ...]:
    """Return the colour of each concept, which is the colour of its family in all pictures.

    Args:
        onto: the ontology. If there are more than eight families, colours repeat.

    Example:
        >>> import ecg_ontology
        >>> onto = ecg_ontology.load()
        >>> colours = family_colours(onto)
        >>> colours[onto.node("AF").index] == colours[onto.node("Rhythm").index]
        True
    """
    return tuple(COLOURS[number % len(COLOURS)] for number in _family_numbers(onto))


def graph_figure(
    onto: Ontology, mass: ArrayLike | None = None, marked: Collection[int] = (), links: str = ""
) -> "Figure":
    """Return a figure of the graph for `inline_svg` or a notebook.

    Args:
        onto: the ontology.
        mass: a non-negative number per concept. The area of a node grows linearly with its mass, and a node
            with mass 0 is invisible. If `None`, the area depends on whether the concept is a family or a
            finding.
        marked: indices of the concepts that get a red ring.
        links: pattern of links for the nodes, such as ``#c-{}``. The placeholder becomes the concept's index.

    Raises:
        UsageError: matplotlib is not installed.

    Example:
        >>> import ecg_ontology
        >>> figure = graph_figure(ecg_ontology.load(), marked=[5])
        >>> figure.get_size_inches().tolist()
        [13.33, 7.5]
    """
    figure = new_figure(13.33, 7.5)
    axes = figure.add_axes((0.01, 0.01, 0.98, 0.90))
    positions = node_positions(onto)
    _draw_edges(onto, axes, positions)
    _draw_nodes(onto, axes, positions, _sizes(onto, mass), marked, links)
    _legend(onto, axes)
    return figure


def draw_graph(onto: Ontology, out: str | Path, why: Explanation | None = None) -> Path:
    """Draw the graph as .svg, .png or .pdf, and return the path.

    If an explanation is given, the area of a node shows its mass in the soft target. Raises `UsageError` if
    the suffix is unknown, or matplotlib is not installed. Raises `OutputError` if the file can't be written.
    """
    mass, leaves = None, set() if why is None else set(why.leaves)
    title = f"{onto.header.title}: {len(onto)} concepts, {len(onto.relations)} edges"
    if why is not None:
        codes = " + ".join(route.label or route.code for route in why.routes)
        title = f"Soft target of {codes}: c* = {why.primary[why.rule] or 'none'}, σ = {why.sigma:g}"
        if why.target:
            mass = np.zeros(len(onto))
            mass[[part.index for part in why.target]] = [part.mass for part in why.target]
    figure = graph_figure(onto, mass, [node.index for node in onto.nodes if node.abbr in leaves])
    figure.suptitle("\n".join(wrap(title, 90)), fontsize=16)
    return save_figure(figure, out)


def node_positions(onto: Ontology) -> Positions:
    """Return the position of each concept by index: x from −1.9 to 1.9, y from −1 to 1 upwards.

    Roots are on an inner ellipse in the order of the ring, the cycle of edges that joins the families. The
    leaves of a family are fanned out beyond its root.
    """
    family = onto.families
    ring = _ring_order(onto)
    members = {
        root: _adjacent_leaves_together([leaf for leaf in onto.leaves if family[leaf] == root], onto)
        for root in ring
    }
    # The share of a family on the circle grows with its leaves. Small families get enough room for their
    # names.
    share = np.array([max(len(members[root]), 3) + 1.0 for root in ring])
    widths = share / share.sum() * 2 * np.pi
    positions: dict[int, tuple[float, float]] = {}
    for root, end, width in zip(ring, np.cumsum(widths), widths, strict=True):
        middle = end - width / 2
        positions[root] = (0.85 * float(np.cos(middle)), 0.42 * float(np.sin(middle)))
        for number, leaf in enumerate(members[root], start=1):
            angle = end - width * (1 - number / (len(members[root]) + 1))
            radius = 0.84 if number % 2 else 1.0
            positions[leaf] = (1.9 * radius * float(np.cos(angle)), radius * float(np.sin(angle)))
    return positions


def _adjacent_leaves_together(leaves: list[int], onto: Ontology) -> list[int]:
    """Sort the leaves of a family so that leaves with a common edge are close to each other."""
    joined = nx.Graph()
    joined.add_nodes_from(leaves)
    joined.add_edges_from(
        (e.source, e.target) for e in onto.relations if e.source in joined and e.target in joined
    )
    return [int(leaf) for leaf in nx.utils.cuthill_mckee_ordering(joined, heuristic=min)]


def _ring_order(onto: Ontology) -> list[int]:
    """Return the roots in the order of the ring if it is a single cycle, or else by index."""
    ring = nx.Graph((edge.source, edge.target) for edge in onto.relations if edge.kind is Kind.ring)
    is_cycle = len(ring) > 2 and nx.is_connected(ring) and all(degree == 2 for _, degree in ring.degree)
    if is_cycle and set(ring) == set(onto.roots):
        return [int(node) for node in nx.dfs_preorder_nodes(ring, min(ring))]
    return list(onto.roots)


def _draw_edges(onto: Ontology, axes: "Axes", positions: Positions) -> None:
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path as Path2D

    codes = [Path2D.MOVETO, Path2D.CURVE3, Path2D.CURVE3]
    for kind, stroke in STROKES.items():
        width, alpha = {Kind.ring: (3.5, 0.5), Kind.family: (1.0, 0.3)}.get(kind, (1.8, 0.8))
        edges = [(edge.source, edge.target) for edge in onto.relations if edge.kind is kind]
        straight = kind in (Kind.ring, Kind.family)
        curves = [
            curve(positions[source], positions[target]) if straight else bent_edge(positions, source, target)
            for source, target in edges
        ]
        paths = [Path2D(curve_PX, codes) for curve_PX in curves]
        style = {"linestyle": stroke, "linewidth": width, "capstyle": "butt", "zorder": 1}
        axes.add_collection(PathCollection(paths, facecolor="none", edgecolor=("black", alpha), **style))


def bent_edge(positions: Positions, source: int, target: int) -> NDArray[np.float64]:
    """Return the control points [3, 2] of an edge that avoids other concepts if possible."""
    start, end = positions[source], positions[target]
    curves = [curve(start, end, bend) for bend in _BENDS]
    if not 2 < len(positions) <= _READABLE:
        return curves[0]
    obstacles = np.array([xy for index, xy in positions.items() if index not in (source, target)])
    obstacles = np.concatenate([obstacles, obstacles - (0, _NAME_BELOW)])
    distances = [clearance(curve_PX, obstacles) for curve_PX in curves]
    free = next((number for number, distance in enumerate(distances) if distance >= _CLEARANCE), None)
    return curves[int(np.argmax(distances)) if free is None else free]


def curve(start: tuple[float, float], end: tuple[float, float], bend: float = 0.0) -> NDArray[np.float64]:
    """Return the control points [3, 2] of a quadratic curve.

    `bend` is the offset of the middle control point from the straight line, relative to the length of the
    line.
    """
    (x, y), (to_x, to_y) = start, end
    middle = ((x + to_x) / 2 + bend * (to_y - y), (y + to_y) / 2 - bend * (to_x - x))
    return np.array([start, middle, end])


def clearance(curve_PX: NDArray[np.float64], points_NX: NDArray[np.float64]) -> float:
    """Return the minimum distance of a quadratic curve to points. The curve is sampled 41 times."""
    t = np.linspace(0, 1, 41)[:, None]
    line = (1 - t) ** 2 * curve_PX[0] + 2 * t * (1 - t) * curve_PX[1] + t**2 * curve_PX[2]
    return float(np.linalg.norm(line[:, None] - points_NX[None], axis=-1).min())


def _draw_nodes(
    onto: Ontology,
    axes: "Axes",
    positions: Positions,
    sizes: NDArray[np.float64],
    marked: Collection[int],
    url: str,
) -> None:
    colours, numbers = family_colours(onto), _family_numbers(onto)
    for root in onto.roots:  # nodes of a family have the same shape and colour, so draw them together
        members = [node.index for node in onto.nodes if onto.families[node.index] == root]
        x, y = zip(*(positions[index] for index in members), strict=True)
        dots = axes.scatter(
            x,
            y,
            s=sizes[members],
            c=colours[root],
            marker=SHAPES[numbers[root] % len(SHAPES)],
            edgecolors=[RING if index in marked else "black" for index in members],
            linewidths=[3.0 if index in marked else 1.0 for index in members],
            zorder=2,
        )
        dots.set_urls([url.format(index) for index in members] if url else [None])
    for node in onto.nodes:
        name = axes.annotate(
            node.abbr,
            positions[node.index],
            xytext=(0, -0.5 * float(np.sqrt(sizes[node.index])) - 3),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=11,
            weight="bold" if node.root or node.index in marked else "normal",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
            zorder=3,
        )
        name.set_url(url.format(node.index) or None)
    axes.set_axis_off()
    axes.margins(0.05, 0.08)


def _family_numbers(onto: Ontology) -> list[int]:
    """Return the family of each concept as a number: 0 for the first root, 1 for the second, and so on."""
    numbers = {root: number for number, root in enumerate(onto.roots)}
    return [numbers[root] for root in onto.families]


def _sizes(onto: Ontology, mass: ArrayLike | None) -> NDArray[np.float64]:
    """Return the areas of the nodes in points², by tier or by mass."""
    if mass is None:
        return np.array([700.0 if node.root else 320.0 for node in onto.nodes])
    mass_N = np.asarray(mass, np.float64)
    return np.where(mass_N > 0, 20 + 1800 * mass_N / max(float(mass_N.max()), 1e-12), 0)


def _legend(onto: Ontology, axes: "Axes") -> None:
    from matplotlib.lines import Line2D

    kinds = [kind for kind in Kind if any(edge.kind is kind for edge in onto.relations)]
    names = {Kind.subtype_of: "subtype of", Kind.manifestation_of: "manifestation of"}
    style: dict[str, Any] = {"color": "black", "alpha": 0.8}
    strokes = [
        Line2D([], [], linestyle=STROKES[kind], linewidth=3.5 if kind is Kind.ring else 1.8, **style)
        for kind in kinds
    ]
    labels = [names.get(kind, kind.value) for kind in kinds]
    axes.legend(strokes, labels, loc="center", frameon=False, fontsize=11)
