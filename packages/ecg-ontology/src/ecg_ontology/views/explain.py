"""Explain how the codes of a record lead to its training target.

The codes are routed to leaves (concepts of findings), a rule selects the primary concept c* among these
leaves, and the soft target distributes a mass of 1 over all concepts by their distance to c*. The other
leaves of the record get the same mass as c*.
"""

from collections.abc import Sequence

from ecg_ontology.graph.concepts import FrozenModel, Route, Rule
from ecg_ontology.graph.targets import RULES
from ecg_ontology.ontology import Ontology

_NAMED = 5
"""Number of target nodes to list without bars."""
_BAR = 30
"""Width of the longest bar, in characters."""


class Mass(FrozenModel):
    """Mass of a node in the soft target, its distance to c*, and whether it is a leaf of the record."""

    index: int
    abbr: str
    distance: int
    active: bool
    mass: float


class Explanation(FrozenModel):
    """Steps from the codes of a record to its soft target.

    Attributes:
        routes: route π of each code.
        leaves: abbreviations of the active leaves.
        primary: abbreviation of the primary concept c* under each rule, or "" if there is no leaf.
        rule: rule that selected c* for the target.
        sigma: temperature of the target, see `explain_codes`.
        target: all nodes by decreasing mass. () if the record has no leaf.
    """

    routes: tuple[Route, ...]
    leaves: tuple[str, ...]
    primary: dict[str, str]
    rule: Rule
    sigma: float
    target: tuple[Mass, ...]

    @property
    def rules_agree(self) -> bool:
        """Whether all selection rules choose the same c*."""
        return len(set(self.primary.values())) == 1


def explain_codes(
    onto: Ontology, codes: Sequence[str], sigma: float = 1.0, rule: Rule = "max-index"
) -> Explanation:
    """Explain the training target of a record with these codes: routes, c* under each rule, and the target.

    Args:
        onto: the ontology.
        codes: codes of a single record.
        sigma: temperature in edges, above 0. A concept at distance d from c* gets exp(-d / sigma) times the
            mass of c*, unless it is a leaf of the record.
        rule: rule that selects c* for the target, see `Ontology.primary`.

    Raises:
        UsageError: `sigma` is not positive, or the rule is unknown.

    Example:
        >>> import ecg_ontology
        >>> why = ecg_ontology.explain_codes(ecg_ontology.load(), ["164889003", "426783006"])
        >>> why.primary, why.rules_agree
        ({'max-index': 'NSR', 'most-specific': 'AF'}, False)
    """
    y = onto.leaf_multi_hot([codes], strict=None)
    soft = onto.soft_targets(y, sigma, rule)[0]
    c_star = int(onto.primary(y, rule)[0])
    target = [
        Mass(
            index=node.index,
            abbr=node.abbr,
            distance=int(onto.distances[c_star, node.index]),
            active=bool(y[0, node.index]),
            mass=float(soft[node.index]),
        )
        for node in onto.nodes
        if c_star >= 0
    ]
    chosen = {name: int(onto.primary(y, name)[0]) for name in RULES}
    return Explanation(
        routes=onto.routes(codes),
        leaves=tuple(onto.nodes[leaf].abbr for leaf in y[0].nonzero()[0]),
        primary={name: "" if leaf < 0 else onto.nodes[leaf].abbr for name, leaf in chosen.items()},
        rule=rule,
        sigma=sigma,
        target=tuple(sorted(target, key=lambda part: (-part.mass, part.index))),
    )


def explanation_text(onto: Ontology, why: Explanation, *, bars: bool = True) -> str:
    """Return an explanation as plain text.

    With `bars`, the text contains the complete target as a bar chart. Nodes with equal mass are on the same
    line.
    """
    lines = []
    for route in why.routes:
        reached = ", ".join(onto.nodes[index].abbr for index in route.nodes) or route.status.value
        lines.append(f"{route.code}  {route.label}  →  {reached}".replace("    ", "  "))
        lines += [f"    {note}" for note in route.notes]
    if not why.leaves:
        lines += [
            "",
            "No leaf is active: the record has no target and is excluded from the contrastive loss.",
        ]
        return "\n".join(lines)
    lines += ["", f"active leaves  {', '.join(why.leaves)}"]
    lines += [f"c* by {name:<14} {abbr}" for name, abbr in why.primary.items()]
    if not why.rules_agree:
        lines.append("the rules select different leaves, so the target depends on the rule")
    if not bars:
        likely = ", ".join(f"{part.abbr} {part.mass:.4f}" for part in why.target[:_NAMED])
        lines.append(f"soft target by {why.rule}, σ = {why.sigma:g}: {likely}, …")
        return "\n".join(lines)
    lines += ["", f"soft target by {why.rule}, σ = {why.sigma:g}   (mass of each node in the line)"]
    most = why.target[0].mass
    for mass in dict.fromkeys(part.mass for part in why.target):
        parts = [part for part in why.target if part.mass == mass]
        bar = "█" * max(1, round(_BAR * mass / most)) if mass > 0 else ""
        state = "active" if parts[0].active else f"D = {parts[0].distance}"
        names = " ".join(part.abbr for part in parts)
        lines.append(f"  {mass:.4f}  {state:<6}  {bar:<{_BAR}}  {names}".rstrip())
    return "\n".join(lines)
