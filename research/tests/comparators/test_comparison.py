"""Other methods as recipes: each is valid, trains all it has, and looks at what it should."""

from unittest.mock import Mock, create_autospec

import pytest
import torch
from tests.marecg.base.test_bounds import assert_bounded
from tests.marecg.train.runs import (
    ONTOLOGY,
    assert_reaches_what_it_says,
    assert_resumes,
    idle,
    looked,
    moved,
    network,
    run,
)

from marecg.corpus.prepared import Corpus
from marecg.corpus.sampling import labels
from marecg.errors import ConfigError
from marecg.nn.pooling import lead_mean
from marecg.objectives.views import Pass
from marecg.recipes import by_name
from marecg.recipes.overrides import override
from marecg.settings import sources
from marecg.train.data import supervise
from marecg.train.network import monitor
from marecg_research.comparators import COMPARATORS
from marecg_research.comparators.astcl import Astcl, adversarial_loss, reversed_gradient
from marecg_research.comparators.crt import at_places
from marecg_research.comparators.momentum import Dino, Momentum
from marecg_research.comparators.tstcc import temporal_loss
from marecg_research.recipes import COMPARISON, METHODS

TINY = [name for name in COMPARISON if name.startswith("tiny-")]


@pytest.mark.parametrize("name", COMPARATORS)
def test_every_value_has_a_source(name):
    assert all(source.startswith(("paper, ", "chosen: ")) for _, source in sources(COMPARATORS[name]))


@pytest.mark.parametrize("kind", COMPARATORS.values())
def test_every_value_has_its_bounds(kind):
    assert_bounded(kind)


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_every_recipe_resumes_exactly(corpus_folder, tmp_path, name):
    assert_resumes(name, corpus_folder, tmp_path)


@pytest.mark.parametrize("name", TINY)
def test_every_parameter_that_takes_a_gradient_gets_one(name, batch):
    net = network(name)
    outcome = run(net, batch)
    outcome.loss.backward()
    assert all(value.ndim == 0 and value.isfinite() for value in outcome.losses.values())
    assert not idle(net)
    assert_reaches_what_it_says(net, batch)
    assert float(net.model.encoder.norm.weight.grad.abs().sum()) > 0


@pytest.mark.parametrize("name", [f"tiny-{name}" for name in METHODS])
def test_the_monitors_see_the_pass_that_is_trained(name, batch):
    signs = monitor(run(network(name), batch))
    assert signs["rank"] > 1
    if name != "tiny-crt":  # it encodes for itself, in no pass
        assert max(value for key, value in signs.items() if key.startswith("grad_")) > 0


@pytest.mark.parametrize("size", ["", "small-", "tiny-"])
def test_what_compares_records_sees_64_of_them_and_a_bottleneck_is_one_at_every_size(size):
    for name in ("byol", "barlow", "simsiam", "moco", "dino", "simclr", "clocs", "tstcc", "astcl", "cpc"):
        assert by_name(size + name).train.batch_size >= 64
    for name in ("simsiam", "astcl"):
        settings = by_name(size + name).objectives[name]
        assert settings.hidden * 4 == settings.outputs


def test_a_batch_of_one_has_no_statistics(batch):
    rows = torch.tensor([0])
    fields = {name: getattr(batch, name)[rows] for name in ("rows_B", "d_BCL", "n_valid_B")}
    one = batch._replace(supervision=batch.supervision.rows(rows), **fields)
    with pytest.raises(
        ConfigError, match=r"train\.batch_size: must be at least 2, because the method uses statistics"
    ):
        run(network("tiny-byol"), one)


@pytest.mark.parametrize("seed", [0, 1])
def test_permuted_codes_are_the_same_codes_on_other_records_by_the_run_s_seed(corpus_folder, seed):
    corpus = Corpus.open(corpus_folder)
    true, permuted, other = (labels(corpus, codes_permuted=how) for how in (None, seed, 1 - seed))
    assert not (true == permuted).all()
    assert not (other == permuted).all()
    assert sorted(map(bytes, true)) == sorted(map(bytes, permuted))
    config = override(by_name("tiny-random"), [f"train.seed={seed}"])
    assert (supervise(config, corpus, ONTOLOGY).whole().y_BN.numpy() == permuted.astype(bool)).all()


def test_without_reach_a_target_is_its_active_leaves(corpus_folder):
    corpus = Corpus.open(corpus_folder)
    supervision = supervise(by_name("tiny-sigma0"), corpus, ONTOLOGY).whole()
    y = supervision.y_BN.float()
    torch.testing.assert_close(supervision.target_BN, y / y.sum(-1, keepdim=True).clamp(min=1))


def test_the_controls_differ_from_c1_with_gscl_in_one_thing():
    assert list(by_name("c1-labels").objectives) == ["ar", "labels"]
    assert list(by_name("c1-sigma0").objectives) == list(by_name("c1-random").objectives) == ["ar", "gscl"]
    assert list(by_name("supervised").objectives) == ["labels"]


@pytest.mark.parametrize("name", ["byol", "moco", "dino"])
def test_a_slow_network_follows_after_a_step_and_takes_no_gradient(name, batch):
    net = network(f"tiny-{name}")
    run(net, batch).loss.backward()
    objective = net.objectives[name]
    assert all(parameter.grad is None for parameter in objective.slow.parameters())
    ways = moved(net, objective.slow, lambda: net.after_step(0, 100))
    assert ways == pytest.approx([1 - objective.settings.momentum] * len(ways), rel=1e-3)


@pytest.mark.parametrize("name", ["simclr", "barlow", "simsiam", "byol", "moco", "dino"])
def test_the_two_views_are_two_draws(name, batch):
    objective, views = looked(name, batch)
    assert len(views._clean) == 2
    first, second = objective.settings.looks(views)
    assert not torch.equal(first.x_BSCP, second.x_BSCP)


@pytest.mark.parametrize("name", ["byol", "moco", "dino"])
def test_a_view_is_held_against_the_slow_network_s_answer_to_the_other(name, batch, monkeypatch):
    """Record i of one view is answered with axis i, of the other with another axis: no loss is left."""
    objective, views = looked(name, batch)
    first, second = objective.settings.looks(views)
    one = 10 * torch.eye(4, getattr(objective.settings, "prototypes", 4))
    other = one.roll(1, 0)
    monkeypatch.setattr(Momentum, "projected", lambda _, views, seen: one if seen is first else other)
    monkeypatch.setattr(Momentum, "slowly_projected", lambda _, views, seen: one if seen is second else other)
    objective.predictor = torch.nn.Identity()
    if isinstance(objective, Dino):
        objective.centre_K.zero_()
    assert float(objective.losses(views)[name][1]) < 0.05


def test_dino_s_teacher_is_centred_before_it_is_followed(batch, monkeypatch):
    """What the teacher answers to every record is its centre, and tells the student nothing."""
    dino, views = looked("dino", batch)
    answer = 10 * torch.eye(4, dino.settings.prototypes)
    dino.centre_K.zero_()[7] = 100
    monkeypatch.setattr(Momentum, "projected", lambda self, views, seen: answer)
    monkeypatch.setattr(Momentum, "slowly_projected", lambda self, views, seen: answer + dino.centre_K)
    assert float(dino.losses(views)["dino"][1]) < 0.05


def test_clocs_encodes_the_first_half_and_the_second(batch, monkeypatch):
    net, spy = network("tiny-clocs"), create_autospec(Pass.part, side_effect=Pass.part)
    monkeypatch.setattr(Pass, "part", spy)
    run(net, batch)
    assert net.model.config.context_patches == 35
    assert [call.args[1:] for call in spy.call_args_list] == [(0, 17), (17, 34)]


def test_ts_tcc_s_past_of_one_view_is_asked_for_the_future_of_the_other(batch, monkeypatch):
    spy = Mock(wraps=temporal_loss)
    monkeypatch.setattr("marecg_research.comparators.tstcc.temporal_loss", spy)
    tstcc, views = looked("tstcc", batch)
    predicted, future = zip(*(call.args for call in spy.call_args_list), strict=True)
    weak, strong = views.clean("rhythm-safe"), views.clean("unconstrained")
    means = [lead_mean(seen.h_BTCD) for seen in (strong, weak)]
    (now,) = [at for at in range(35) if torch.equal(means[0][:, at : at + tstcc.horizons], future[0])]
    torch.testing.assert_close(future[1], means[1][:, now : now + tstcc.horizons])
    for seen, predicted_BHD in zip((weak, strong), predicted, strict=True):
        context_BD = seen.pooled(seen.part(0, now), seen.real_BT[:, :now])
        torch.testing.assert_close(tstcc.predictors[-1](context_BD), predicted_BHD[:, -1])


def test_astcl_s_past_of_one_view_is_asked_for_the_future_of_the_other(batch, monkeypatch):
    """The noisy past points where the clear future does, and the other way round: the cosines are all 1."""
    astcl, views = looked("astcl", batch)
    noisy = views.clean("rhythm-safe")
    one, other = torch.zeros(2, 4, 12, 16)
    one[..., 0] = other[..., 1] = 1
    halves = staticmethod(lambda seen: (one, other) if seen is noisy else (other, one))
    monkeypatch.setattr(Astcl, "_halves", halves)
    astcl.future = torch.nn.Identity()
    assert float(astcl.losses(views)["spatiotemporal"][1]) == pytest.approx(-1)


def test_astcl_s_discriminator_is_taught_that_the_augmented_view_is_the_noisy_one(batch):
    astcl, views = looked("astcl", batch)
    seen: list[torch.Tensor] = []

    class Noting(torch.nn.Module):
        def forward(self, h_BD: torch.Tensor) -> torch.Tensor:
            seen.append(h_BD.detach())
            return 30 * torch.ones(4, 1) * (1 if torch.equal(h_BD, noisy_BD) else -1)

    noisy_BD = views.clean("rhythm-safe").rhythm_BD
    astcl.discriminator = Noting()
    assert float(astcl.losses(views)["adversarial"][1]) < 1e-6
    assert not torch.equal(seen[0], seen[1])


def test_dino_s_centre_moves_towards_the_teacher_s_answers(batch):
    dino, views = looked("dino", batch)
    with torch.no_grad():
        answers = torch.cat([dino.slowly_projected(views, seen) for seen in dino.settings.looks(views)])
    torch.testing.assert_close(dino.centre_K, 0.1 * answers.mean(0), rtol=1e-4, atol=1e-6)


def test_st_mem_s_decoder_reads_each_lead_alone():
    stmem = network("tiny-stmem").objectives["stmem"]
    h = torch.randn(2, 35, 12, 16)
    changed = h.clone()
    changed[:, :, 3] += 1
    same = torch.isclose(stmem.decoded(h), stmem.decoded(changed), atol=1e-6).all(-1).all(1).all(0)
    assert same.tolist() == [lead != 3 for lead in range(12)]


def test_crt_drops_more_as_the_run_goes_on(batch):
    net = network("tiny-crt")
    crt = net.objectives["crt"]
    visible = []
    for step in (0, 50, 100):
        net.after_step(step, 100)
        visible.append(crt.draw_visible(4, torch.Generator().manual_seed(0))[1])
    assert visible == [35 - 10, 35 - 18, 35 - 28]
    mean = sum(crt.settings.dropped((k + 0.5) / 1000) for k in range(1000)) / 1000
    assert crt.settings.mean_dropped == pytest.approx(mean, abs=1e-6)


def test_crt_s_encoder_never_meets_what_was_dropped(batch):
    crt, _ = looked("crt", batch)
    z = torch.randn(2, 35 + 2 * crt.patches, 12, 16)
    visible, times = crt.draw_visible(2, torch.Generator().manual_seed(0))
    hidden = torch.ones(z.shape[:2]).scatter(1, visible, 0.0)
    changed = z + hidden[..., None, None]
    assert torch.equal(at_places(z, visible), at_places(changed, visible))
    assert (visible[:, :times] < 35).all()
    bands = visible[:, times:].unflatten(1, (2, -1))
    assert torch.equal(bands[:, 1] - bands[:, 0], torch.full_like(bands[:, 0], crt.patches))
    assert crt.decode(z[:, : visible.shape[1]], visible).shape == (2, z.shape[1], 12, 100)


def test_crt_shows_and_asks_nothing_of_a_lead_that_is_not_there(batch, monkeypatch):
    """It is hidden, not zero, and nothing hangs on what is said of it, but on what is said of the next."""
    d_BCL = batch.d_BCL.clone()
    d_BCL[:, 3] = 0
    crt, views = looked("crt", batch._replace(d_BCL=d_BCL))
    decode, encode = crt.decode, views.model.encoder.forward
    shown, losses = [], []
    monkeypatch.setattr(views.model.encoder, "forward", lambda z: encode(shown.append(z) or z))
    for lead in (None, 3, 4):
        apart = torch.zeros(12)
        apart[[] if lead is None else lead] = 1
        monkeypatch.setattr(crt, "decode", lambda h, at, by=apart: decode(h, at) + by[:, None])
        views.generator.manual_seed(0)
        losses.append({name: value.item() for name, (_, value) in crt.losses(views).items()})
    assert losses[0] == losses[1]
    assert losses[2]["time"] > losses[0]["time"]
    assert losses[2]["spectrum"] > losses[0]["spectrum"]
    with torch.no_grad():
        views.model.tokens.mask += 1
        views.generator.manual_seed(0)
        crt.losses(views)
    moved = (shown[-1] - shown[0]).abs().amax((0, 1, 3)) > 0
    assert moved[3]
    assert (shown[-1] - shown[0])[..., 3, :].abs().min() > 0, "patches and spectrum alike"


def test_astcl_s_encoder_plays_against_the_discriminator(batch):
    objective, _ = looked("astcl", batch)
    h = torch.randn(4, 16, requires_grad=True)
    scores = [objective.discriminator(each)[:, 0] for each in (h, reversed_gradient(h, 0.1))]
    plain, reversed_ = (torch.autograd.grad(adversarial_loss(each[:2], each[2:]), h)[0] for each in scores)
    torch.testing.assert_close(reversed_, -0.1 * plain)
