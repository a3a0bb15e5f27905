"""The extended graph: the paper's 40 concepts untouched, and a leaf or a reason for every code."""

from pathlib import Path

import numpy as np
import pytest

import ecg_ontology
from ecg_ontology.base.errors import SourceError
from ecg_ontology.curation.building import built_files, packaged_sources, stale_files
from ecg_ontology.loading import PACKAGED


@pytest.fixture(scope="module")
def extended():
    return ecg_ontology.load("extended", "curated")


def test_the_forty_concepts_keep_their_indices_edges_and_distances(onto, extended):
    assert extended.nodes[:40] == onto.nodes
    assert np.array_equal(extended.distances[:40, :40], onto.distances)
    assert set(onto.relations) <= set(extended.relations)
    assert len(extended) == 66
    assert ecg_ontology.load().sha256 == onto.sha256


def test_every_new_leaf_has_three_texts_a_definition_a_source_and_a_code(extended):
    reached = {leaf for code in extended.codes for leaf in extended.route(code).leaves}
    for node in extended.nodes[40:]:
        assert len(node.variants) == 3
        assert node.definition
        assert node.sources
        assert node.index in reached or node.abbr == "SepMI", node.abbr


@pytest.mark.parametrize("profile", ["paper", "curated"])
def test_every_code_of_the_challenges_and_of_ptb_xl_has_a_leaf_or_a_reason(profile):
    onto = ecg_ontology.load("extended", profile)
    codes = [*onto.official, *(code for code in onto.codes if code.startswith("scp:"))]
    assert len(codes) == 133 + 71
    without = [code for code in codes if not onto.route(code).leaves]
    assert not [code for code in without if not onto.route(code).notes]
    assert len(without) <= 40


def test_the_packaged_bundle_is_that_of_the_sources():
    bundle = PACKAGED.with_name("ccg-extended.json")
    assert stale_files(built_files(packaged_sources() / "extended", bundle)) == []


def test_a_folder_that_extends_nothing_is_refused(tmp_path):
    (tmp_path / "more.ttl").write_text(
        (packaged_sources() / "extended" / "extended.ttl").read_text("utf-8"), "utf-8"
    )
    (tmp_path / "extends.txt").write_text("nowhere\n", "utf-8")
    with pytest.raises(SourceError, match=r"must name a folder of sources without its own extends\.txt"):
        ecg_ontology.load(tmp_path)


def test_the_page_s_table_counts_what_the_tables_hold():
    page = (Path(__file__).parents[2] / "docs" / "ontology" / "codes.md").read_text("utf-8")
    onto = ecg_ontology.load(profile="curated")
    leaves = {node.iri for node in onto.nodes if not node.root}
    counted = {}
    for row in (*onto.draft.mappings, *onto.draft.crosswalks):
        vocabulary = row.code.partition(":")[0] if ":" in row.code else "snomedct"
        counted.setdefault((row.table, vocabulary), []).append(row)
    for (table, _), rows in counted.items():
        if table in {"paper", "curated"}:
            continue
        name = (
            table if table.startswith("crosswalk") else "routing" + (f".{table}" if table != "base" else "")
        )
        codes, reached = {row.code for row in rows}, {row.node for row in rows} & leaves
        assert f"| `{name}` | {len(codes)} | {len(rows)} | {len(reached)} |" in page, (name, len(codes))
