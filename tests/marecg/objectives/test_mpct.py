"""The three terms of eq. mgca-loss."""

import math

import torch
from torch.nn.functional import cosine_similarity, normalize

from marecg.objectives.mpct import beat_concept_loss, instance_concept_loss, ontology_prototype_loss

TEXT_VD = torch.eye(4) * 3
ACTIVE_BV = torch.tensor([[True, True, False, False], [False, False, True, True]])


def test_instance_alignment_is_what_loops_over_records_give():
    h, text = torch.randn(3, 4), torch.randn(6, 4)
    active = torch.zeros(3, 6, dtype=torch.bool)
    active[0, :3], active[1, 2:5], active[2, 5] = True, True, True
    words = [text[active[record]] for record in range(3)]
    summaries = [(each @ h_K / 2).softmax(0) @ each for each, h_K in zip(words, h, strict=True)]
    like = normalize(h, dim=-1) @ normalize(torch.stack(summaries), dim=-1).T / 0.2
    expected = sum(-float(rows[i].log_softmax(0)[i]) for rows in (like, like.T) for i in range(3)) / 6
    torch.testing.assert_close(instance_concept_loss(h, text, active, 0.2), torch.tensor(expected))


def test_records_with_the_same_leaves_are_not_each_others_negatives():
    h = torch.randn(2, 4)
    same = ACTIVE_BV[[0, 0]]
    torch.testing.assert_close(instance_concept_loss(h, TEXT_VD, same, 0.1), torch.tensor(0.0))


def test_records_without_leaves_leave_all_three_terms_and_a_batch_of_them_costs_nothing():
    h, beats, real = torch.randn(3, 4), torch.randn(3, 5, 4), torch.ones(3, 5, dtype=torch.bool)
    active = torch.cat([ACTIVE_BV, torch.zeros(1, 4, dtype=torch.bool)])

    def terms(rows: slice) -> torch.Tensor:
        instance = instance_concept_loss(h[rows], TEXT_VD, active[rows], 0.1)
        beat = beat_concept_loss(beats[rows], real[rows], TEXT_VD, active[rows], 0.1)
        return torch.stack(
            [instance, beat, ontology_prototype_loss(h[rows], TEXT_VD, active[rows].float(), 0.1)]
        )

    torch.testing.assert_close(terms(slice(3)), terms(slice(2)))
    assert not terms(slice(2, 3)).any()


def test_beats_that_are_not_there_say_nothing():
    beats = torch.randn(2, 5, 4)
    real = torch.tensor([[True] * 3 + [False] * 2, [True] * 5])
    changed = beats.clone()
    changed[0, 3:] = 100.0
    loss, same = (beat_concept_loss(each, real, TEXT_VD, ACTIVE_BV, 0.1) for each in (beats, changed))
    torch.testing.assert_close(loss, same)


def test_beat_alignment_is_what_loops_over_records_beats_and_variants_give():
    beats, text = torch.randn(2, 3, 4), torch.randn(4, 4)
    real = torch.tensor([[True, True, False], [True, True, True]])
    like = torch.zeros(2, 2)
    for a in range(2):
        own = beats[a][real[a]]
        for b in range(2):
            words = text[ACTIVE_BV[b]]
            to_text = [cosine_similarity(beat, (words @ beat / 2).softmax(0) @ words, 0) for beat in own]
            to_beats = [cosine_similarity(word, (own @ word / 2).softmax(0) @ own, 0) for word in words]
            like[a, b] = (sum(to_text) / len(to_text) + sum(to_beats) / len(to_beats)) / 2
    logits = like / 0.1
    expected = -(logits.log_softmax(1).diag().mean() + logits.log_softmax(0).diag().mean()) / 2
    torch.testing.assert_close(beat_concept_loss(beats, real, text, ACTIVE_BV, 0.1), expected)


def test_the_prototype_term_is_the_divergence_from_uniform_over_the_active_leaves():
    h, prototypes = torch.randn(1, 4), torch.randn(5, 4)
    y = torch.tensor([[0.0, 1, 0, 1, 0]])
    q = (normalize(h, dim=-1) @ normalize(prototypes, dim=-1).T / 0.5).softmax(-1)[0]
    expected = sum(0.5 * math.log(0.5 / float(q[leaf])) for leaf in (1, 3))
    torch.testing.assert_close(ontology_prototype_loss(h, prototypes, y, 0.5), torch.tensor(expected))
