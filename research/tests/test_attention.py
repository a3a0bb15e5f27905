"""The attention protocol: a pool over frozen tokens that learns where to look, and nothing else learns."""

import numpy as np
import pytest
import torch
from tests.marecg.evaluate.made_tasks import probed, trials_on

from marecg.errors import InputError, UsageError
from marecg.evaluate.probe.linear import Part
from marecg.evaluate.request import Request, protocol_named
from marecg.model.mar_ecg import MarEcg
from marecg.recipes import tiny
from marecg_research import attention
from marecg_research.attention import ATTENTION, TOKENS, AttentionPool, as_tokens, choose, tokens

WIDTH, PLACES = 3, 20


def part(records: int, seed: int) -> Part:
    """A record has the class if any of its tokens, at whatever place, is high in its first value."""
    generator = np.random.default_rng(seed)
    x_MTE = generator.normal(size=(records, PLACES, WIDTH + 1))
    x_MTE[..., -1] = 1
    y_MK = generator.integers(0, 2, (records, 1)).astype(np.uint8)
    hit = np.flatnonzero(y_MK)
    x_MTE[hit, generator.integers(0, PLACES, len(hit)), 0] += 6
    return Part(x_MTE.reshape(records, -1), y_MK)


def test_a_logit_is_the_weighted_mean_of_the_values_that_the_query_looks_at():
    x_MTE = torch.tensor([[[0.0, 1.0], [2.0, 1.0], [9.0, 0.0]]])  # the third is behind the record's end
    pool = AttentionPool(x_MTE, 1, width=1, dropout=0).eval()  # standardised: −1 and 1
    with torch.no_grad():
        pool.key.weight.fill_(1)
        pool.value.weight.fill_(3)
        pool.value.bias.fill_(0)
        pool.query_KA.fill_(np.log(2) / 2)  # scores ∓½ log 2: shares ⅓ and ⅔
        pool.weight_KA.fill_(2)
        pool.bias_K.fill_(0.5)
    assert pool(x_MTE).item() == pytest.approx(2 * (-1 / 3 + 2 / 3) * 3 + 0.5)


def test_it_finds_a_token_at_any_place_that_a_mean_blurs():
    train, val = part(300, 0), part(200, 1)
    assert choose(train, val, WIDTH).val_auc > 0.97
    mean = [Part(as_tokens(each.x_MF, WIDTH)[..., :-1].mean(1).numpy(), each.y_MK) for each in (train, val)]
    assert choose(*mean).val_auc < 0.93


def test_the_same_seed_gives_the_same_logits_and_torchs_random_state_stays():
    train, val = part(60, 2), part(40, 3)
    torch.manual_seed(0)
    expected = torch.rand(2)
    torch.manual_seed(0)
    one, two = (choose(train, val, WIDTH, epochs=3).logits(val.x_MF) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert torch.equal(torch.rand(2), expected)


def test_the_epoch_is_the_best_on_val_and_the_search_ends_a_patience_behind_it(monkeypatch):
    aucs, asked = [0.6, 0.9, 0.8, 0.7, 0.95], []
    monkeypatch.setattr(attention, "macro_auc", lambda *_: asked.append(1) or aucs[len(asked) - 1])
    monkeypatch.setattr(attention, "PATIENCE_EPOCHS", 2)
    train, val = part(60, 4), part(40, 5)
    fitted = choose(train, val, WIDTH)
    assert (fitted.chosen, fitted.val_auc, len(asked)) == (2, 0.9, 4)
    monkeypatch.undo()
    np.testing.assert_array_equal(fitted.logits(val.x_MF), _after(train, val, 2))


def _after(train: Part, val: Part, epochs: int) -> np.ndarray:
    """What it says when it stops there, whatever val says."""
    with pytest.MonkeyPatch.context() as patched:
        rising = iter(range(1, 100))
        patched.setattr(attention, "macro_auc", lambda *_: next(rising))
        return choose(train, val, WIDTH, epochs=epochs).logits(val.x_MF)


def test_tokens_of_a_record_are_those_of_h_bar_and_where_it_is_shorter_none():
    model = MarEcg(tiny().model).eval()
    generator = np.random.default_rng(0)
    signals = [generator.normal(size=(12, samples)).astype(np.float32) for samples in (5000, 2500)]
    method = tokens("encoder", model)
    x_BF = method.compute(signals)
    assert list(method.judged) == ["encoder", TOKENS]
    x_BTE = as_tokens(x_BF[:, method.judged[TOKENS].columns], model.config.width)
    assert x_BTE[..., -1].sum(1).tolist() == [model.config.patches(n) for n in (5000, 2500)]
    assert all(each.grad is None for each in model.parameters())
    method.verify()


@pytest.mark.slow
def test_only_the_pool_learns_and_a_probe_by_it_reports_the_tokens(run_folder, ptbxl_root, tmp_path):
    request = Request((1.0,), 1, protocol_named("attention"), resamples=20)
    report = probed(run_folder, "ptbxl-super", ptbxl_root, request, out=tmp_path)
    rows = {cell.method: cell for cell in report.cells}
    assert report.reference == TOKENS == next(iter(rows))
    assert {"encoder", "random encoder", "random encoder, tokens", "hand-crafted"} <= {*rows}
    assert rows["encoder"].versus_encoder is not None
    assert (tmp_path / "probe/ptbxl-super-attention.json").is_file()


def test_val_records_that_tell_no_classes_apart_are_refused():
    x, y = np.zeros((30, 2)), np.ones((30, 1), np.uint8)
    y[[0, 25]] = 0
    split = np.repeat(["train", "val", "test"], 10)
    with pytest.raises(InputError, match="among the 10 validation records, got none"):
        trials_on(ATTENTION, x, y, split, (1.0,), seeds=1)


def test_a_readout_beside_it_is_refused_with_what_to_leave_out():
    with pytest.raises(UsageError, match=r"reads encoder, tokens, got readout=full.*Leave out --set readout"):
        Request(protocol=ATTENTION, readout="full")
