"""eq. patch-rhythm-loss, loss by loss."""

import math
from typing import Any

import pytest
import torch

import ecg_ontology
from marecg.corpus.batches import BatchStream
from marecg.corpus.prepared import Corpus
from marecg.objectives.msps import RhythmTarget, patch_position_losses, patch_rhythm_losses
from marecg.recipes import by_name
from marecg.recipes.overrides import override
from marecg.train.data import supervise
from marecg.train.network import Network


def all_real(records: int, patches: int) -> torch.Tensor:
    """No patch holds padding."""
    return torch.ones(records, patches, dtype=torch.bool)


def rhythm(readable: list[bool], rr: list[float], rate: Any = None, **others: Any) -> RhythmTarget:
    nothing = torch.zeros(len(rr))
    target = RhythmTarget(
        alternates_B=nothing,
        rate_B=torch.tensor(rate or [1] * len(rr)),
        mean_rr_B=torch.tensor(rr),
        rr_cv_B=nothing,
        known_B=torch.tensor(readable),
    )
    return target._replace(**{name: torch.tensor(values) for name, values in others.items()})


def test_an_undecided_head_pays_log_2_for_alternation_and_log_4_for_the_rate():
    losses = patch_rhythm_losses(torch.zeros(2, 3, 7), rhythm([True, True], [0.6, 1.0]), all_real(2, 3))
    assert math.isclose(losses["alt"].item(), math.log(2), rel_tol=1e-6)
    assert math.isclose(losses["rate"].item(), math.log(4), rel_tol=1e-6)


def test_the_mean_rr_is_asked_for_as_a_z_score_over_the_batch():
    out_BTR = torch.zeros(2, 3, 7)
    out_BTR[0, :, 5], out_BTR[1, :, 5] = -1, 1  # 0.6 and 1.0 s are one deviation either side of 0.8 s
    target = rhythm([True, True], [0.6, 1.0])
    costs = [patch_rhythm_losses(each, target, all_real(2, 3))["mrr"] for each in (out_BTR, 0 * out_BTR)]
    torch.testing.assert_close(torch.stack(costs), torch.tensor([0.0, 1.0]), atol=1e-4, rtol=0)


def test_a_head_that_says_what_is_so_pays_nothing_and_one_wrong_patch_pays_its_share():
    target = rhythm([True, True], [0.6, 1.0], [0, 2], alternates_B=[0.0, 1.0], rr_cv_B=[0.1, 0.3])
    right_BTR = torch.zeros(2, 4, 7)
    right_BTR[0] = torch.tensor([-60.0, 60, 0, 0, 0, -1, -1])  # alternation, four rates, mean RR, RR-CV
    right_BTR[1] = torch.tensor([60.0, 0, 0, 60, 0, 1, 1])
    losses = patch_rhythm_losses(right_BTR, target, all_real(2, 4))
    torch.testing.assert_close(torch.stack([*losses.values()]), torch.zeros(4), atol=1e-9, rtol=0)
    wrong = (("alt", 0, 120, 60), ("rate", 2, 180, 120), ("mrr", 5, 4, 16), ("cv", 6, 4, 16))
    for name, place, off, cost in wrong:
        wrong_BTR = right_BTR.clone()
        wrong_BTR[0, 2, place] += off
        losses = patch_rhythm_losses(wrong_BTR, target, all_real(2, 4))
        expected = {other: cost / 8 if other == name else 0 for other in losses}  # one patch of eight
        assert {other: loss.item() for other, loss in losses.items()} == pytest.approx(expected, abs=1e-4)


def test_records_without_a_readable_rhythm_leave_every_rhythm_loss():
    out_BTR = torch.randn(3, 4, 7)
    three = rhythm([True, False, True], [0.6, 9.0, 1.0], [0, 3, 2])
    two = rhythm([True, True], [0.6, 1.0], [0, 2])
    some = patch_rhythm_losses(out_BTR, three, all_real(3, 4))
    torch.testing.assert_close(some, patch_rhythm_losses(out_BTR[[0, 2]], two, all_real(2, 4)))


def test_a_batch_without_any_rhythm_costs_nothing_and_pulls_nowhere():
    out_BTR = torch.randn(2, 4, 7, requires_grad=True)
    losses = patch_rhythm_losses(out_BTR, rhythm([False] * 2, [0.0] * 2, [3, 3]), all_real(2, 4))
    torch.stack([*losses.values()]).sum().backward()
    assert not out_BTR.grad.any()


def test_the_sequence_bucket_of_patch_i_is_floor_of_i_minus_1_times_k_over_t():
    for patches in (8, 139, 187):
        right_BTK = torch.full((1, patches, 12), -50.0)
        for i in range(1, patches + 1):
            right_BTK[0, i - 1, (i - 1) * 8 // patches] = 50.0
        losses = patch_position_losses(right_BTK, torch.full((1, patches), -1), all_real(1, patches))
        assert losses["seq"] < 1e-6


def test_patches_without_a_usable_neighbourhood_leave_the_phase_loss():
    out_BTK = torch.randn(1, 4, 12)
    phase_BT = torch.tensor([[0, -1, 3, -1]])
    expected = -sum(out_BTK[0, place, 8:].log_softmax(0)[phase] for place, phase in ((0, 0), (2, 3))) / 2
    phase = patch_position_losses(out_BTK, phase_BT, all_real(1, 4))["phase"]
    torch.testing.assert_close(phase, expected)
    assert patch_position_losses(out_BTK, torch.full((1, 4), -1), all_real(1, 4))["phase"] == 0


def test_a_short_record_gives_the_losses_of_what_there_is_of_it():
    generator = torch.Generator().manual_seed(3)
    out_BTR, out_BTK = (torch.randn(3, 8, size, generator=generator) for size in (7, 12))
    phase_BT = torch.randint(-1, 4, (3, 8), generator=generator)
    target = rhythm([True, True, True], [0.6, 1.0, 1.4])
    real_BT = all_real(3, 8)
    real_BT[:, 5:] = False

    def losses(rhythm_BTR: torch.Tensor, position_BTK: torch.Tensor) -> dict[str, torch.Tensor]:
        named = patch_rhythm_losses(rhythm_BTR, target, real_BT)
        return named | patch_position_losses(position_BTK, phase_BT, real_BT)

    noise = torch.where(real_BT[..., None], 0, 100)
    torch.testing.assert_close(losses(out_BTR, out_BTK), losses(out_BTR + noise, out_BTK - noise))
    cut = patch_rhythm_losses(out_BTR[:, :5], target, all_real(3, 5))
    torch.testing.assert_close(patch_rhythm_losses(out_BTR, target, real_BT), cut)


def test_z_scores_over_the_corpus_are_asked_for_as_they_come(corpus_folder):
    """With heads that say nothing the loss of mean RR is the mean square of the records' z-scores."""
    config = override(by_name("tiny-c3"), ["model.width=16", "model.heads=2", "msps.z_score=corpus"])
    corpus, graph = Corpus.open(corpus_folder), ecg_ontology.load()
    batch = BatchStream(corpus, supervise(config, corpus, graph), 4, 1, seed=0).batch(0)
    net = Network(config, graph)
    with torch.no_grad():
        for parameter in net.objectives["msps"].parameters():
            parameter.zero_()
    outcome = net(batch, torch.Generator().manual_seed(0), lambda z: z, epoch=50)
    asked_B = batch.supervision.mean_rr_B[batch.supervision.known_B]
    torch.testing.assert_close(outcome.losses["mrr"], asked_B.square().mean())
    assert abs(float(asked_B.mean())) > 1e-3, "of the batch itself they are no z-scores"
