"""The shipped sentence embeddings."""

import pytest
import torch

import ecg_ontology
from marecg.errors import CheckpointError
from marecg.objectives import concept_text
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
    monkeypatch.setattr(concept_text, "embed_texts", lambda ontology: "made anew")
    onto = ecg_ontology.load()
    assert torch.equal(embedded(onto, tmp_path / "nowhere"), shipped(onto))
    assert embedded(Reworded()) == "made anew"
    with pytest.raises(CheckpointError, match="embeddings of other texts"):
        shipped(Reworded())


@pytest.mark.slow
def test_the_sentence_encoder_gives_the_shipped_embeddings_again():
    """A rounding apart: another processor rounds differently."""
    ontology = ecg_ontology.load()
    torch.testing.assert_close(embed_texts(ontology), shipped(ontology), rtol=0, atol=1e-4)
