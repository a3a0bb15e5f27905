"""What a model says of a record without a probe."""

import pytest
import torch

import ecg_ontology
from ecg_ontology import perturb
from marecg.model.mar_ecg import MarEcg
from marecg.use.predict import reader_of


@pytest.mark.parametrize("wrong", [False, True])
def test_a_model_of_a_graph_that_is_wrong_on_purpose_says_so(micro, tmp_path, caplog, wrong):
    real = ecg_ontology.load()
    model = MarEcg(micro.model, perturb.flat(real) if wrong else real).eval()
    torch.nn.init.normal_(model.prototypes)
    model.save_pretrained(tmp_path / "model")
    reader_of(tmp_path / "model")
    assert ("wrong on purpose" in caplog.text) == wrong
