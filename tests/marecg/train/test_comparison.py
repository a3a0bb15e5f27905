"""Other methods as recipes: each is valid, trains all it has, and goes on exactly."""

import pytest
import torch
from tests.marecg.train.networks import ONTOLOGY, idle, network, run

from marecg.base.config import sources
from marecg.base.errors import ConfigError
from marecg.corpus.prepared import Corpus
from marecg.corpus.sampling import labels
from marecg.objectives.registry import COMPARATORS
from marecg.recipes import COMPARISON, by_name
from marecg.recipes.comparison import METHODS
from marecg.recipes.overrides import override
from marecg.train.data import supervise
from marecg.train.network import Network, monitor

TINY = [name for name in COMPARISON if name.startswith("tiny-")]


@pytest.mark.parametrize("name", COMPARATORS)
def test_every_value_has_a_source(name):
    assert all(source.startswith(("paper ", "chosen: ")) for _, source in sources(COMPARATORS[name]))


@pytest.mark.parametrize("name", TINY)
def test_every_parameter_that_takes_a_gradient_gets_one(name, batch):
    net = network(name)
    outcome = run(net, batch)
    outcome.loss.backward()
    assert all(value.ndim == 0 and value.isfinite() for value in outcome.named.values())
    assert not idle(net)
    assert float(net.model.encoder.norm.weight.grad.abs().sum()) > 0


@pytest.mark.parametrize("name", [f"tiny-{name}" for name in METHODS])
def test_the_monitors_see_the_pass_that_is_trained(name, batch):
    signs = monitor(run(network(name), batch))
    assert signs["rank"] > 1
    if name != "tiny-crt":  # it encodes for itself, in no pass
        assert max(value for key, value in signs.items() if key.startswith("grad_")) > 0


@pytest.mark.parametrize("size", ["", "small-", "tiny-"])
def test_what_compares_records_sees_64_of_them_and_a_bottleneck_is_one_at_every_size(size):
    for name in ("byol", "barlow", "simsiam", "moco", "dino", "simclr", "clocs", "tstcc", "astcl"):
        assert by_name(size + name).train.batch_size >= 64
    for name in ("simsiam", "astcl"):
        settings = by_name(size + name).objectives[name]
        assert settings.hidden * 4 == settings.outputs


def test_a_batch_of_one_has_no_statistics(batch):
    rows = torch.tensor([0])
    fields = {name: getattr(batch, name)[rows] for name in ("rows_B", "d_BCL", "n_valid_B")}
    one = batch._replace(supervision=batch.supervision.rows(rows), **fields)
    with pytest.raises(ConfigError, match=r"train\.batch_size: needs the statistics of a batch"):
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


def test_prototypes_can_do_without_edges_while_targets_keep_them():
    config = override(by_name("tiny"), ["gscl.a_hat=identity"])
    head = Network(config, ONTOLOGY).objectives["gscl"].prototypes
    before = head()
    with torch.no_grad():
        head.embedding[7] += 1
    assert ((head() - before).abs().amax(1) > 0).nonzero().flatten().tolist() == [7]


def test_the_controls_differ_from_c1_with_gscl_in_one_thing():
    assert list(by_name("c1-labels").objectives) == ["ar", "labels"]
    assert list(by_name("c1-sigma0").objectives) == list(by_name("c1-random").objectives) == ["ar", "gscl"]
    assert list(by_name("supervised").objectives) == ["labels"]
