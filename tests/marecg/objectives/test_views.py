"""The looks at a batch: what a clean, cropped pass sees, and what supervises it."""

from pathlib import Path

import pytest
import torch

import ecg_ontology
from marecg.corpus.batches import BatchStream
from marecg.corpus.prepared import Corpus
from marecg.model.batch import Batch
from marecg.model.mar_ecg import MarEcg
from marecg.objectives.views import CleanConfig, MaskingConfig, RegulariserConfig, Views
from marecg.recipes import Config
from marecg.recipes.overrides import override
from marecg.train.data import supervise


@pytest.fixture(scope="module")
def config(micro: Config) -> Config:
    return micro.model_copy(update={"clean": CleanConfig(supervised=True, crop=True)})


@pytest.fixture(scope="module")
def batch(corpus_folder: Path, config: Config) -> Batch:
    corpus = Corpus.open(corpus_folder)
    return BatchStream(corpus, supervise(config, corpus, ecg_ontology.load()), 8, 1, seed=0).batch(0)


def views(config, batch, clean, regulariser=None, **masking) -> Views:
    torch.manual_seed(0)
    model, generator = MarEcg(config.model), torch.Generator().manual_seed(0)
    return Views(model, batch, MaskingConfig(**masking), clean, regulariser, generator, lambda z: z)


def starts(config: Config, batch: Batch, seen: Views) -> list[int]:
    """Where each record of the clean pass begins, found again by its samples."""
    model, begins = config.model, {}
    for start in reversed(range(0, batch.x_BCL.shape[2] - model.context + 1, model.stride)):
        part_BCL = batch.x_BCL[:, :, start : start + model.context]
        normal_BCL, _ = seen.model.revin(part_BCL, (batch.n_valid_B - start).clamp(max=model.context))
        for row, seen_CP in enumerate(seen.clean().x_BSCP[:, 0]):
            if torch.allclose(normal_BCL[row, :, : model.patch], seen_CP, atol=1e-4):
                begins[row] = start
    return [begins[row] for row in range(len(batch.rows_B))]


def test_each_record_begins_at_a_patch_of_its_own_and_what_supervises_it_moves_along(config, batch):
    seen = views(config, batch, config.clean)
    begins, supervision = starts(config, batch, seen), seen.clean().supervision
    assert len(set(begins)) > 3
    for row, start in enumerate(begins):
        first = start // config.model.stride
        whole_S, patches = batch.supervision.phase_BT[row], config.model.context_patches
        assert torch.equal(supervision.phase_BT[row], whole_S[first : first + patches])
        peaks = [peak - start for peak in batch.supervision.rpeaks_BK[row].tolist() if peak >= start]
        assert [peak for peak in supervision.rpeaks_BK[row].tolist() if peak >= 0] == peaks


def test_a_crop_of_a_short_record_has_no_more_padding_than_it_must(config, batch):
    short = batch._replace(n_valid_B=torch.full_like(batch.n_valid_B, config.model.context + 10))
    real_BT = views(config, short, config.clean).clean().real_BT
    assert real_BT.all()
    shorter = batch._replace(n_valid_B=torch.full_like(batch.n_valid_B, 2000))
    real_BT = views(config, shorter, config.clean).clean().real_BT
    assert (real_BT.sum(1) == config.model.patches(2000)).all()


def test_supervision_reads_the_masked_pass_unless_it_is_told_otherwise(config, batch):
    plain = views(config, batch, CleanConfig())
    assert plain.supervised is plain.masked
    clean = views(config, batch, CleanConfig(supervised=True, augmentation="rhythm-safe"))
    assert clean.supervised is clean.clean("rhythm-safe")
    assert not clean.supervised.masked_BTC.any()


def test_hidden_leads_are_asked_for_only_where_that_is_wanted(config, batch):
    hiding = RegulariserConfig(p_lead=0.5, p_drop=0.0)
    without = views(config, batch, CleanConfig(), hiding).masked.masked_BTC
    asked = views(config, batch, CleanConfig(), hiding, hidden_leads=True).masked.masked_BTC
    whole_BC = asked.all(1)
    assert not without.all(1).any()
    assert 0.3 < whole_BC.float().mean() < 0.7
    others_BTC = ~whole_BC[:, None].expand_as(asked)
    assert torch.equal(asked[others_BTC], without[others_BTC])


def test_latent_dropout_zeroes_its_share_of_h_in_both_views_and_none_of_the_target(config, batch):
    without, dropped = (
        views(config, batch, CleanConfig(), RegulariserConfig(p_lead=0.0, p_drop=rate)) for rate in (0, 0.1)
    )
    for of in (lambda seen: seen.masked, lambda seen: seen.clean()):
        whole, thinned = of(without).h_BTCD, of(dropped).h_BTCD
        passed = thinned != 0
        assert 0.08 < 1 - passed.float().mean() < 0.12
        torch.testing.assert_close(thinned[passed], whole[passed] / 0.9)
    model = dropped.model
    torch.testing.assert_close(dropped.slow(model.tokens, model.encoder), without.clean().h_BTCD)


def test_a_part_is_encoded_as_if_there_were_nothing_else_of_its_record(config, batch):
    config = override(config, ["model.amplitude=true"])
    d_BCL = batch.d_BCL.clone()
    d_BCL[..., 10 * config.model.stride :] *= 3
    quiet, loud = (
        views(config, each, CleanConfig()).clean() for each in (batch, batch._replace(d_BCL=d_BCL))
    )
    torch.testing.assert_close(quiet.part(0, 10), loud.part(0, 10))
    assert not torch.allclose(quiet.h_BTCD[:, :10], loud.h_BTCD[:, :10], atol=1e-2)
