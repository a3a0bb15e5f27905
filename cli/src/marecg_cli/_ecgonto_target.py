"""Commands that show what the codes of a record supervise: leaves, primary, soft target, and why."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ecg_ontology
from marecg_cli._ecgonto_look import Codes, Rule, Sigma, Source, exit_if_unknown, given
from marecg_cli._options import As, Profile
from marecg_cli._output import result, result_json

if TYPE_CHECKING:
    from ecg_ontology import Ontology
    from ecg_ontology.explain import Explanation


def target(
    codes: Codes,
    sigma: Sigma = 1.0,
    rule: Rule = "max-index",
    profile: Profile = "paper",
    ontology: Source = None,
    form: As = "text",
) -> None:
    """Show the leaves, the primary c* and the soft target of a record with these codes; -: from stdin.

    Exits 1 when a code is unknown or malformed; such a code adds nothing. JSON has the target as numbers,
    one for each concept; `explain --format json` has the reasons.

    Example: ecgonto target 54329005 --sigma 1.0 --format json
    """
    onto = ecg_ontology.load(ontology, profile)
    why = ecg_ontology.explain_codes(onto, given(codes), sigma, rule)
    if form == "json":
        result_json(_numbers(onto, why))
        exit_if_unknown(why.routes)
    else:
        _print(onto, why)


def explain(
    codes: Codes,
    sigma: Sigma = 1.0,
    rule: Rule = "max-index",
    profile: Profile = "paper",
    ontology: Source = None,
    picture: Annotated[
        Path | None, typer.Option(help="Also draw the target on the graph: .svg, .png or .pdf.")
    ] = None,
    form: As = "text",
) -> None:
    """Explain the supervision of a record: routes, leaves, both selection rules, the soft target as bars.

    Exits 1 when a code is unknown or malformed; - reads codes from stdin.

    Example: ecgonto explain 164889003 426783006 --sigma 1.0 --picture why.svg
    """
    onto = ecg_ontology.load(ontology, profile)
    why = ecg_ontology.explain_codes(onto, given(codes), sigma, rule)
    if picture is not None:
        from ecg_ontology.draw import draw_graph

        draw_graph(onto, picture, why)
    if form == "json":
        result_json({**why.model_dump(mode="json"), "rules_agree": why.rules_agree})
        exit_if_unknown(why.routes)
    else:
        _print(onto, why)


def _print(onto: "Ontology", why: "Explanation") -> None:
    from ecg_ontology.explain import explanation_text

    result(explanation_text(onto, why))
    exit_if_unknown(why.routes)


def _numbers(onto: "Ontology", why: "Explanation") -> dict[str, object]:
    """Indices of the leaves and of c*, and the target by index."""
    index = {node.abbr: node.index for node in onto.nodes}
    mass = {part.index: part.mass for part in why.target}
    primary = why.primary[why.rule]
    return {
        "leaves": [index[abbr] for abbr in why.leaves],
        "primary": index.get(primary, -1),
        "target": [mass.get(node.index, 0.0) for node in onto.nodes],
        "names": why.leaves,
        "primary_name": primary,
        "rule": why.rule,
        "sigma": why.sigma,
    }
