"""The package of weights: whole, small, found by name, and better than nothing at what it is for."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import marecg
from ecg_synth import write_corpus
from marecg.corpus import trained_on
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.model.by_family import judged_by_family
from marecg.model.mar_ecg import MarEcg
from marecg.model.names import installed
from marecg.use.answers import answers_of

PACKAGE = Path(__file__).parents[2] / "packages" / "marecg-small" / "src" / "marecg_small"
FOLDERS = {"marecg-small": "without_ptbxl_codes", "marecg-small-codes": "with_ptbxl_codes"}
MEGABYTE = 1 << 20


@pytest.fixture(scope="module", params=FOLDERS)
def model(request: pytest.FixtureRequest) -> MarEcg:
    return MarEcg.from_pretrained(request.param)


@pytest.fixture(scope="module")
def hearts(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Thirty-six synthetic hearts that no training has seen."""
    folder = tmp_path_factory.mktemp("hearts")
    write_corpus(folder / "wfdb", 36, 77, diagnoses=["AF", "NSR", "LBBB"])
    prepare([folder / "wfdb"], folder / "prepared", jobs=1)
    return Corpus.open(folder / "prepared")


@pytest.mark.parametrize("name", FOLDERS)
def test_each_encoder_is_found_by_its_name_without_a_network(name):
    assert installed(name) == PACKAGE / FOLDERS[name]


def test_the_package_is_under_twenty_megabytes():
    assert sum(path.stat().st_size for path in PACKAGE.rglob("*") if path.is_file()) < 20 * MEGABYTE


def test_the_encoder_for_records_of_ones_own_tells_what_can_be_told_and_the_other_does_not():
    models = {name: MarEcg.from_pretrained(name) for name in FOLDERS}
    answers = {name: answers_of(name, model) for name, model in models.items()}  # refuses other weights'
    assert answers["marecg-small"] is None
    told = answers["marecg-small-codes"]
    assert told.records == 1989
    roots = {node.abbr for node in models["marecg-small-codes"].ontology.nodes if node.root}
    assert roots < set(told.of)
    assert len(told.of) == len(roots) + 20


def test_an_encoder_says_what_it_was_trained_on_and_how_many_taught_each_concept(model):
    provenance = model.provenance
    assert provenance.sources["ptbxl"] == 2677
    assert provenance.support["AF"] > 100


@pytest.mark.parametrize(("name", "leaves"), [("marecg-small", ["InfMI"]), ("marecg-small-codes", [])])
def test_an_untaught_leaf_is_scored_by_its_family(name, leaves):
    model = MarEcg.from_pretrained(name)
    assert model.untaught_by_family == ("Conduction", "Ischemic")
    assert [model.ontology.nodes[leaf].abbr for leaf in judged_by_family(model)] == leaves


def test_of_ptbxl_the_headline_read_no_code_and_the_other_did():
    apart = [MarEcg.from_pretrained(name).provenance for name in FOLDERS]
    assert ["ptbxl" in each.without_codes for each in apart] == [True, False]


@pytest.mark.parametrize("name", FOLDERS)
def test_an_encoder_lists_every_record_that_it_was_trained_on(name):
    trained = trained_on.read(PACKAGE / FOLDERS[name])
    assert trained.complete
    assert len(trained.hashes) == 13_073  # of 13,078 records five have a bit-identical copy
    assert sum(each.startswith("ptbxl/") for each in trained.identities) == 2677


@pytest.mark.parametrize("name", FOLDERS)
def test_the_card_has_every_published_task_with_its_interval(name):
    card = (PACKAGE / FOLDERS[name] / "README.md").read_text(encoding="utf-8")
    for task in ("ptbxl-super", "ptbxl-sub", "ptbxl-form", "ptbxl-rhythm"):
        assert task in card
    rows = [line for line in card.splitlines() if line.startswith("| encoder, wide |")]
    assert [row.count("[") for row in rows] == [4, 4, 4]
    assert "| ptbxl | 2677 | CC BY 4.0, https://physionet.org/content/ptb-xl/" in card


def test_a_heart_it_has_never_seen_lies_nearer_to_its_own_rhythm(model, hearts):
    numbers = {node.abbr: node.index for node in model.ontology.nodes}
    x_BCL = hearts.signals(np.arange(len(hearts)))
    q_BN: NDArray[np.float32] = marecg.predict(model, x_BCL, fs=500)
    for abbr in ("AF", "LBBB"):
        has_B = hearts.y[:, numbers[abbr]] == 1
        own_B = q_BN[:, numbers[abbr]]
        assert has_B.sum() > 5
        assert own_B[has_B].mean() > 3 * own_B[~has_B].mean()
