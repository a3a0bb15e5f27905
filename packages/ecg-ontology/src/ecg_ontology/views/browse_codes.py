"""List the codes on the browse page, for the profiles ``paper`` and ``curated``.

The lists contain the routes of codes, the authors of decisions, and codes of other systems.
"""

from collections.abc import Iterable
from html import escape
from typing import get_args

from ecg_ontology.graph.concepts import Profile
from ecg_ontology.graph.drafts import RoutingRow
from ecg_ontology.ontology import Ontology


def code_items(onto: Ontology) -> dict[int | None, list[str]]:
    """Return the codes of each concept as HTML list items, by its index. Unrouted codes are under `None`.

    An item that is valid in only one profile is marked with the profile.
    """
    items: dict[int | None, dict[str, list[str]]] = {}
    for profile in get_args(Profile):
        view = onto if profile == onto.profile else Ontology(onto.draft, profile, checked=True)
        rows = {(row.code, row.node): row for row in view.rows}
        for route in view.routes(view.codes):
            for index in route.leaves or route.nodes or (None,):
                row = rows.get((route.code, None if index is None else onto.nodes[index].iri))
                item = _item(route.code, route.label, row, route.notes)
                items.setdefault(index, {}).setdefault(item, []).append(profile)
    return {
        index: [
            f"<li>{item}</li>" if len(profiles) > 1 else f'<li data-profile="{profiles[0]}">{item}</li>'
            for item, profiles in profiles_of.items()
        ]
        for index, profiles_of in items.items()
    }


def other_items(onto: Ontology, index: int) -> list[str]:
    """Return codes of other systems for a concept as HTML. These codes never give a training target."""
    node = onto.nodes[index]
    rows = (row for row in onto.draft.crosswalks if row.node == node.iri)
    return [f"<li>{_item(row.code, row.label, row, (row.reason,))}</li>" for row in rows]


def tag(text: str) -> str:
    """Return a text as a small label in HTML to append to a line, or "" if the text is empty."""
    return f' <span class="tag">{escape(text)}</span>' if text else ""


def _item(code: str, label: str, row: RoutingRow | None, notes: Iterable[str]) -> str:
    """Return HTML with a code, its relation to the concept, the author of the decision, and notes."""
    relation = tag(row.predicate.rpartition(":")[2]) if row and row.node else ""
    who = tag(" ".join(filter(None, (row.author or row.source, row.date)))) if row else ""
    remarks = "".join(f'<p class="note">{escape(note)}</p>' for note in notes)
    return f"<code>{escape(code)}</code> {escape(label)}{relation}{who}{remarks}"
