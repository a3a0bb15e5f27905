"""Targets: the paper's worked examples, a slow reference by the formulas, and the target's properties."""

import math
import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecg_ontology
from ecg_base import UsageError
from ecg_ontology import CodedRecords, Concept, Kind, Ontology, Relation
from ecg_ontology.graph import targets as vectorised
from ecg_ontology.graph.concepts import Tier
from ecg_ontology.graph.drafts import Draft, DraftConcept, DraftRelation

ONTO = ecg_ontology.load()
LEAVES = st.sets(st.sampled_from(ONTO.leaves), min_size=1, max_size=6)
SIGMAS = st.floats(0.2, 20.0)
RULES = st.sampled_from(["max-index", "most-specific"])


def y_of(*records, width=40):
    y = np.zeros((len(records), width), dtype=np.uint8)
    for row, leaves in zip(y, records, strict=True):
        row[list(leaves)] = 1
    return y


def of(roots: Sequence[bool], siblings: Sequence[tuple[int, int]] = ()) -> Ontology:
    """An ontology of concepts that are roots or leaves, and edges between them, sound or not."""
    concepts = tuple(
        DraftConcept(iri=f"x#{i}", index=i, abbr=str(i), tier=Tier.root if root else Tier.leaf)
        for i, root in enumerate(roots)
    )
    edges = tuple(DraftRelation(kind=Kind.sibling, subject=f"x#{a}", object=f"x#{b}") for a, b in siblings)
    return Ontology(Draft(header=ONTO.header, concepts=concepts, relations=edges), checked=True)


def slow_target(onto: Ontology, leaves: set[int], sigma: float, c_star: int) -> list[float]:
    """The two displayed equations, one number at a time."""
    mass = [math.exp(-int(distance) / sigma) for distance in onto.distances[c_star]]
    mass = [max(1.0, m) if c in leaves else m for c, m in enumerate(mass)]
    return [m / sum(mass) for m in mass]


def test_codes_become_leaves_and_roots_never_do():
    y = ONTO.leaf_multi_hot([["54329005"], ["6374002"], [], ["164889003", "164889003", "STE", "251238007"]])
    assert [row.nonzero()[0].tolist() for row in y] == [[19, 25], [], [], [5]]
    assert y.dtype == np.uint8
    assert not y[:, :5].any()


def test_acute_and_anterior_mi_centre_on_anterior_mi():
    assert ONTO.primary(y_of({19, 25}))[0] == 25
    assert ONTO.distances[25, 19] == 1
    assert ONTO.distances[25, 21] == ONTO.distances[25, 24] == 2


def test_three_active_leaves_get_three_equal_masses():
    t = ONTO.soft_targets(y_of({19, 21, 25}))[0]
    assert t[19] == t[21] == t[25] == pytest.approx(0.1686, abs=5e-5)
    assert np.sort(t)[-4] < t[19]


def test_the_more_severe_block_is_primary_and_the_complete_block_is_its_neighbour():
    assert ONTO.primary(y_of({16, 17}))[0] == 17
    t = ONTO.soft_targets(y_of({16, 17}))[0]
    assert t[16] == t[17]
    assert t[18] / t[17] == pytest.approx(math.exp(-1))


def test_a_record_of_roots_only_has_no_primary_and_a_target_of_zeros():
    y = ONTO.leaf_multi_hot([["6374002", "698252002"], []])
    assert ONTO.primary(y).tolist() == [-1, -1]
    assert not ONTO.soft_targets(y).any()


def test_the_mass_on_a_single_leaf_lies_between_ischaemia_and_the_normal_leaves():
    own = {leaf: ONTO.soft_targets(y_of({leaf}))[0, leaf] for leaf in ONTO.leaves}
    assert min(own, key=own.get) == ONTO.node("MyIsch").index
    assert min(own.values()) == pytest.approx(0.214, abs=5e-4)
    assert max(own.values()) == pytest.approx(0.329, abs=5e-4)
    assert {leaf for leaf, mass in own.items() if mass == max(own.values())} == {34, 35, 36}


def test_sinus_rhythm_outranks_a_pathology_by_index_and_never_by_specificity():
    nsr_and_af = y_of({5, 34})
    assert ONTO.primary(nsr_and_af, "max-index")[0] == 34
    assert ONTO.primary(nsr_and_af, "most-specific")[0] == 5
    assert sum(ONTO.primary(y_of({34, leaf}))[0] == 34 for leaf in ONTO.leaves if leaf != 34) == 29
    assert all(ONTO.primary(y_of({34, leaf}), "most-specific")[0] == leaf for leaf in ONTO.leaves)


def test_the_most_specific_leaf_is_the_one_with_the_longest_is_a_path_then_the_highest_index():
    # 24 isn't a subtype of 21 but its manifestation.
    y = y_of({25, 39}, {25, 26}, {21, 24})
    assert ONTO.primary(y, "most-specific").tolist() == [25, 26, 24]


def test_a_grandchild_is_more_specific_than_a_child_of_higher_index():
    nodes = [Concept(index=i, abbr=str(i), label="", iri=str(i), root=False) for i in range(4)]
    subtype = [Relation(kind=Kind.subtype_of, source=a, target=b) for a, b in [(1, 0), (2, 1), (3, 0)]]
    ranks = vectorised.ranking(nodes, subtype, "most-specific")
    assert vectorised.primary(np.ones((1, 4), bool), ranks)[0] == 2


def test_an_unknown_rule_and_a_sigma_that_is_not_positive_are_refused():
    with pytest.raises(UsageError, match="max-index, most-specific"):
        ONTO.primary(y_of({5}), "deepest")
    for sigma in (0.0, -1.0, math.nan):
        with pytest.raises(UsageError, match="above 0"):
            ONTO.soft_targets(y_of({5}), sigma)


def y_with(value, column):
    y = np.zeros((3, 40))
    y[1, column] = value
    return y


@pytest.mark.parametrize(
    ("y", "says"),
    [
        *((np.zeros((2, width)), "40 numbers") for width in (35, 41)),
        *((y_with(x, 7), re.escape(f"got y[1, 7] = {x}")) for x in (math.nan, math.inf, -1.0, 0.3, 2.0)),
        (y_with(1, 1), r"the root Rhythm \(column 1\)"),
        *((y, "^y ") for y in ([[1], [0, 1]], np.full((1, 40), "1"), np.zeros(40))),
    ],
)
def test_a_y_that_is_no_leaf_multi_hot_is_refused_and_the_place_named(y, says):
    for ask in (ONTO.primary, ONTO.soft_targets):
        with pytest.raises(UsageError, match=says):
            ask(y)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32, np.float64])
def test_c_star_and_t_have_their_dtypes_whatever_y_has_and_leave_y_as_it_is(dtype):
    y = y_of({5, 34}, set(), {25}).astype(dtype)
    before = y.copy()
    assert ONTO.primary(y).dtype == np.int64
    assert ONTO.soft_targets(y).dtype == np.float64
    np.testing.assert_array_equal(ONTO.soft_targets(y), ONTO.soft_targets(before.astype(np.uint8)))
    np.testing.assert_array_equal(y, before)
    assert y.dtype == dtype


@given(st.lists(LEAVES, min_size=1, max_size=8), SIGMAS, RULES)
def test_the_vectorised_targets_of_a_batch_are_the_slow_ones(records, sigma, rule):
    y = y_of(*records)
    primaries, targets = ONTO.primary(y, rule).tolist(), ONTO.soft_targets(y, sigma, rule)
    for leaves, c_star, t in zip(records, primaries, targets, strict=True):
        assert c_star in leaves
        np.testing.assert_allclose(t, slow_target(ONTO, leaves, sigma, c_star), rtol=1e-12)


@given(LEAVES, SIGMAS)
def test_after_the_clamp_all_active_leaves_weigh_the_same_and_most(leaves, sigma):
    t = ONTO.soft_targets(y_of(leaves), sigma)[0]
    assert {t[leaf] for leaf in leaves} == {t.max()}


@given(LEAVES)
def test_a_vanishing_sigma_leaves_the_uniform_distribution_over_the_active_leaves(leaves):
    for sigma in (1e-3, 1e-320):
        t = ONTO.soft_targets(y_of(leaves), sigma)
        np.testing.assert_allclose(t, y_of(leaves) / len(leaves), atol=1e-12)


@given(LEAVES)
def test_a_sigma_without_bound_leaves_the_uniform_distribution_over_all_nodes(leaves):
    np.testing.assert_allclose(ONTO.soft_targets(y_of(leaves), 1e12)[0], np.full(40, 1 / 40), rtol=1e-9)
    np.testing.assert_array_equal(ONTO.soft_targets(y_of(leaves), math.inf)[0], np.full(40, 1 / 40))


@st.composite
def any_leaves(draw):
    """A graph in any number of parts, its leaves and roots mixed, and the leaves of a few records."""
    n = draw(st.sampled_from([1, 2, 9, 64, 65, 255, 256, 300]))
    roots = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    ends = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(ends, ends).filter(lambda pair: pair[0] < pair[1]), max_size=40))
    leaves = [i for i in range(n) if not roots[i]]
    record = st.sets(st.sampled_from(leaves), max_size=5) if leaves else st.just(set())
    return roots, pairs, draw(st.lists(record, min_size=1, max_size=4))


@given(any_leaves(), SIGMAS)
def test_any_graph_of_any_size_and_in_any_number_of_parts_gives_the_targets_of_the_formulas(case, sigma):
    roots, pairs, records = case
    onto = of(roots, pairs)
    y = y_of(*records, width=len(roots))
    t = onto.soft_targets(y, sigma)
    assert t.dtype == np.float64
    for c_star, row, leaves in zip(onto.primary(y).tolist(), t, records, strict=True):
        assert c_star == max(leaves, default=-1)
        if leaves:
            np.testing.assert_allclose(row, slow_target(onto, leaves, sigma, c_star), rtol=1e-12)
        else:
            assert not row.any()


@given(any_leaves())
def test_codes_reach_their_leaves_in_a_graph_of_any_size(case):
    roots, _, records = case
    coded = CodedRecords.of([[f"x:{leaf}" for leaf in record] for record in records])
    leaves = [[int(code.removeprefix("x:"))] for code in coded.vocabulary]
    y = vectorised.multi_hot(coded, leaves, len(roots))
    assert [set(row.nonzero()[0]) for row in y] == records


def test_the_rank_of_a_leaf_beyond_the_255th_still_counts():
    y = y_of({1, 256}, {255, 599}, {254, 255}, width=600)
    assert of([i < 1 for i in range(600)]).primary(y).tolist() == [256, 599, 255]
