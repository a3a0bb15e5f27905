"""Other methods as recipes: each trains all it has, looks at what it should, and goes on exactly."""

from pathlib import Path

import pytest
import torch

import ecg_ontology
from marecg.comparison import METHODS
from marecg.config import sources
from marecg.corpus.batches import Batch, BatchStream
from marecg.corpus.prepared import Corpus
from marecg.corpus.supervision import labels
from marecg.errors import ConfigError
from marecg.objectives.comparators import COMPARATORS
from marecg.objectives.comparators.astcl import Astcl, adversarial_loss, reversed_gradient
from marecg.objectives.comparators.crt import Crt, _taken
from marecg.objectives.comparators.dino import Dino
from marecg.objectives.comparators.momentum import Momentum
from marecg.objectives.comparators.stmem import Stmem
from marecg.overrides import override
from marecg.recipes import COMPARISON, Config, by_name
from marecg.train.monitors import monitor
from marecg.train.network import Network, Outcome
from marecg.train.run import train

ONTOLOGY = ecg_ontology.load()
TINY = [name for name in COMPARISON if name.startswith("tiny-")]
SMALLER = ["model.width=16", "model.depth=1", "model.heads=2"]


@pytest.fixture(scope="module")
def batch(corpus_folder: Path) -> Batch:
    corpus = Corpus.open(corpus_folder)
    config = by_name("tiny-c3")
    return BatchStream(corpus, config.supervision(corpus, ONTOLOGY), 4, 1, seed=0).batch(0)


def network(name: str) -> Network:
    torch.manual_seed(0)
    return Network(override(by_name(name), SMALLER), ONTOLOGY)


def run(net: Network, batch: Batch, seed: int = 0) -> Outcome:
    outcome = net(batch, torch.Generator().manual_seed(seed), lambda z: z, epoch=50)
    assert isinstance(outcome, Outcome)
    return outcome


@pytest.mark.parametrize("name", COMPARISON)
def test_every_recipe_is_valid_and_knows_its_name(name: str) -> None:
    config = by_name(name)
    assert config.name == name
    assert Config.model_validate(config.model_dump()) == config
    assert config.step_flops() > 0


@pytest.mark.parametrize("name", COMPARATORS)
def test_every_value_has_a_source(name: str) -> None:
    assert all(source.startswith(("paper ", "chosen: ")) for _, source in sources(COMPARATORS[name]))


@pytest.mark.parametrize("name", TINY)
def test_every_parameter_that_takes_a_gradient_gets_one(name: str, batch: Batch) -> None:
    net = network(name)
    outcome = run(net, batch)
    outcome.loss.backward()
    assert all(value.ndim == 0 and value.isfinite() for value in outcome.named.values())
    assert not [n for n, p in net.named_parameters() if p.requires_grad and p.grad is None]
    assert float(net.model.encoder.norm.weight.grad.abs().sum()) > 0


@pytest.mark.parametrize("name", [f"tiny-{name}" for name in METHODS])
def test_the_monitors_see_the_pass_that_is_trained(name: str, batch: Batch) -> None:
    outcome = run(network(name), batch)
    found = monitor(outcome)
    assert found["rank"] > 1
    if name not in ("tiny-clocs", "tiny-tstcc", "tiny-crt"):  # they train through parts of the record
        assert max(value for key, value in found.items() if key.startswith("grad_")) > 0


@pytest.mark.parametrize(
    "name", ["byol", "barlow", "simsiam", "moco", "dino", "simclr", "clocs", "tstcc", "astcl"]
)
def test_what_compares_records_sees_64_of_them(name: str) -> None:
    for recipe in (name, f"small-{name}", f"tiny-{name}"):
        assert by_name(recipe).train.batch_size >= 64


@pytest.mark.parametrize("name", ["tiny-byol", "tiny-moco", "tiny-dino"])
def test_a_slow_network_follows_after_a_step_and_takes_no_gradient(name: str, batch: Batch) -> None:
    net = network(name)
    run(net, batch).loss.backward()
    objective = net.objectives[name.removeprefix("tiny-")]
    assert isinstance(objective, Momentum)
    assert all(parameter.grad is None for parameter in objective.slow.parameters())
    before = [parameter.clone() for parameter in objective.slow.parameters()]
    with torch.no_grad():
        for parameter in (*net.model.parameters(), *objective.projector.parameters()):
            parameter.add_(1.0)
    net.after_step(0, 100)
    moved = [
        float((now - then).mean()) for now, then in zip(objective.slow.parameters(), before, strict=True)
    ]
    assert moved == pytest.approx([1 - objective.settings.momentum] * len(moved), rel=1e-3)


def test_the_two_views_are_two_draws(batch: Batch) -> None:
    views = run(network("tiny-simclr"), batch).views
    first, second = views.clean("unconstrained"), views.clean("unconstrained", 1)
    assert len(views._clean) == 2
    assert not torch.equal(first.x_BSCP, second.x_BSCP)


def test_dino_s_centre_moves_towards_the_teacher_s_answers(batch: Batch) -> None:
    net = network("tiny-dino")
    dino = net.objectives["dino"]
    assert isinstance(dino, Dino)
    views = run(net, batch).views
    with torch.no_grad():
        answers = torch.cat([dino.slowly_projected(views, seen) for seen in dino.settings.looks(views)])
    torch.testing.assert_close(dino.centre_K, 0.1 * answers.mean(0), rtol=1e-4, atol=1e-6)


def test_st_mem_s_decoder_reads_each_lead_alone() -> None:
    stmem = network("tiny-stmem").objectives["stmem"]
    assert isinstance(stmem, Stmem)
    h = torch.randn(2, 35, 12, 16)
    changed = h.clone()
    changed[:, :, 3] += 1
    same = torch.isclose(stmem.decoded(h), stmem.decoded(changed), atol=1e-6).all(-1).all(1).all(0)
    assert same.tolist() == [lead != 3 for lead in range(12)]


def test_a_batch_of_one_has_no_statistics(batch: Batch) -> None:
    rows = torch.tensor([0])
    one = batch._replace(
        rows_B=batch.rows_B[rows],
        d_BCL=batch.d_BCL[rows],
        n_valid_B=batch.n_valid_B[rows],
        supervision=batch.supervision.rows(rows),
    )
    with pytest.raises(ConfigError, match=r"train\.batch_size: needs the statistics of a batch"):
        run(network("tiny-byol"), one)


def test_permuted_codes_are_the_same_codes_on_other_records(corpus_folder: Path) -> None:
    corpus = Corpus.open(corpus_folder)
    true, permuted = labels(corpus), labels(corpus, codes_permuted=0)
    assert not (true == permuted).all()
    assert sorted(map(bytes, true)) == sorted(map(bytes, permuted))
    assert (permuted == labels(corpus, codes_permuted=0)).all()
    supervision = by_name("tiny-random").supervision(corpus, ONTOLOGY)
    assert (supervision.whole().y_BN.numpy() == permuted.astype(bool)).all()


def test_without_reach_a_target_is_its_active_leaves(corpus_folder: Path) -> None:
    corpus = Corpus.open(corpus_folder)
    found = by_name("tiny-sigma0").supervision(corpus, ONTOLOGY).whole()
    y = found.y_BN.float()
    torch.testing.assert_close(found.target_BN, y / y.sum(-1, keepdim=True).clamp(min=1))


def test_the_controls_differ_from_c1_with_gscl_in_one_thing() -> None:
    assert list(by_name("c1-labels").objectives) == ["ar", "labels"]
    assert list(by_name("c1-sigma0").objectives) == list(by_name("c1-random").objectives) == ["ar", "gscl"]
    assert list(by_name("supervised").objectives) == ["labels"]


@pytest.mark.parametrize("name", TINY)
def test_a_run_that_was_cut_goes_on_to_the_same_bytes(name: str, corpus_folder: Path, tmp_path: Path) -> None:
    sizes = [*SMALLER, "train.batch_size=4", "train.checkpoint_every=1", "train.precision=32-true"]
    config = override(by_name(name), [*sizes, "train.max_steps=2"])
    run, model = tmp_path / "run", tmp_path / "run" / "model" / "model.safetensors"
    train(config, corpus_folder, run)
    whole = [path.read_bytes() for path in (model, run / "metrics.csv", run / "monitors.csv")]
    (run / "checkpoints" / "step-00000002.ckpt").unlink()
    model.unlink()
    train(config, corpus_folder, run)
    assert [path.read_bytes() for path in (model, run / "metrics.csv", run / "monitors.csv")] == whole


def test_crt_drops_more_as_the_run_goes_on(batch: Batch) -> None:
    net = network("tiny-crt")
    crt = net.objectives["crt"]
    assert isinstance(crt, Crt)
    kept = []
    for step in (0, 50, 100):
        net.after_step(step, 100)
        kept.append(crt._kept(4, torch.Generator().manual_seed(0))[1])
    assert kept == [35 - 10, 35 - 18, 35 - 28]
    assert crt.settings.mean_dropped == pytest.approx(
        sum(crt.settings.dropped((k + 0.5) / 1000) for k in range(1000)) / 1000, abs=1e-6
    )


def test_crt_s_encoder_never_meets_what_was_dropped(batch: Batch) -> None:
    net = network("tiny-crt")
    crt = net.objectives["crt"]
    assert isinstance(crt, Crt)
    z = torch.randn(2, 35 + 2 * crt.patches, 12, 16)
    kept, times = crt._kept(2, torch.Generator().manual_seed(0))
    changed = z.clone()
    for record in range(2):
        away = [place for place in range(z.shape[1]) if place not in kept[record].tolist()]
        changed[record, away] += 1
    assert torch.equal(_taken(z, kept), _taken(changed, kept))
    assert (kept[:, :times] < 35).all()
    bands = kept[:, times:].unflatten(1, (2, -1))
    assert torch.equal(bands[:, 1] - bands[:, 0], torch.full_like(bands[:, 0], crt.patches))
    said = crt._decoded(z[:, : kept.shape[1]], kept)
    assert said.shape == (2, z.shape[1], 12, 100)


def test_astcl_s_encoder_plays_against_the_discriminator(batch: Batch) -> None:
    net = network("tiny-astcl")
    h = torch.randn(4, 16, requires_grad=True)
    objective = net.objectives["astcl"]
    assert isinstance(objective, Astcl)
    plain, reversed_ = (
        torch.autograd.grad(adversarial_loss(score[:2], score[2:]), h)[0]
        for score in (
            objective.discriminator(h)[:, 0],
            objective.discriminator(reversed_gradient(h, 0.1))[:, 0],
        )
    )
    torch.testing.assert_close(reversed_, -0.1 * plain)
