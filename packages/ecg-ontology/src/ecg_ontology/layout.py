"""The former home of what draws the graph; it goes when nothing imports it any more."""

from ecg_ontology.ontology import Ontology
from ecg_ontology.positions import node_positions as places

Places = dict[int, tuple[float, float]]


def families(onto: Ontology) -> list[int]:
    """`Ontology.families`."""
    return list(onto.families)


def by_family(onto: Ontology) -> list[int]:
    """`Ontology.by_family`."""
    return list(onto.by_family)


__all__ = ["Places", "by_family", "families", "places"]
