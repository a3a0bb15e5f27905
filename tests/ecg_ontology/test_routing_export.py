"""A profile's routing as one SSSOM table: what mapping tools read is what the ontology says."""

import pytest

import ecg_ontology
from ecg_ontology import export
from ecg_ontology.formats.sssom import read_sssom
from ecg_ontology.graph.concepts import Regime


@pytest.mark.parametrize("profile", ["paper", "curated"])
def test_the_routing_of_a_profile_reads_back_row_by_row(profile, tmp_path):
    onto = ecg_ontology.load(profile=profile)
    back = read_sssom(export(onto, tmp_path / "all.sssom.tsv"), "base", onto.draft.concepts)
    elsewhere = {"table": "", "place": "", "node_label": ""}
    rows = [[row.model_copy(update=elsewhere) for row in each] for each in (back, onto.rows)]
    assert rows[0] == rows[1]
    assert Regime.unrouted in {row.regime for row in back}
