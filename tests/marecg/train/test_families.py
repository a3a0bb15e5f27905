"""Records of a family's code alone teach under `gscl.families`: from their files to `predict`."""

from pathlib import Path

import numpy as np
import pytest
from tests.made_records import make_ecg, make_record
from tests.marecg.train.runs import ONTOLOGY

from marecg.corpus.prepare import prepare
from marecg.embedding.inputs import Inputs
from marecg.model.mar_ecg import MarEcg
from marecg.recipes import Config
from marecg.recipes.overrides import override
from marecg.train.run import train
from marecg.use.predict import predict_table

ISCHEMIA = "164865005"
"""Myocardial infarction: the paper's routing leads it to the family alone."""


@pytest.fixture(scope="module")
def coarse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three records of a family alone, and one of atrial fibrillation."""
    folder = tmp_path_factory.mktemp("coarse")
    for number in range(4):
        comments = [f"Dx: {ISCHEMIA if number < 3 else '164889003'}"]
        make_record(folder / "wfdb", f"E{number:05}", make_ecg(seed=number), comments=comments)
    prepare([folder / "wfdb"], folder / "prepared", jobs=1)
    return folder / "prepared"


def mass(run: Path, corpus: Path) -> float:
    """The mean share of q on the family, all its concepts together, that a run's model predicts."""
    table, _ = predict_table(MarEcg.from_pretrained(run), Inputs([str(corpus)]))
    of = ONTOLOGY.families[ONTOLOGY.node("AntMI").index]
    members = [node.abbr for node in ONTOLOGY.nodes if ONTOLOGY.families[node.index] == of]
    return float(np.mean(table[members].sum(1)))


def test_records_of_a_family_alone_teach_its_mass_where_families_are_in_the_loss(
    coarse, micro: Config, tmp_path
):
    masses = {}
    for share in (0.0, 0.5):
        settings = [f"gscl.families={share}", "gscl.weight=4", "train.lr=0.01", "train.max_steps=12"]
        train(override(micro, settings), coarse, tmp_path / str(share))
        masses[share] = mass(tmp_path / str(share), coarse)
    assert masses[0.5] > masses[0.0] + 0.1, masses
