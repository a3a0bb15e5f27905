"""`embed`: any sampling rate, length and set of leads."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.made_records import make_ecg

import ecg_ontology
import marecg
from ecg_ontology import Ontology
from ecg_records.readers.discovery import find
from ecg_records.signal.leads import LEADS
from marecg.embedding.embed import embed, encode
from marecg.errors import UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.model.windows import recording
from marecg.use.predict import reader_of


def test_a_record_of_the_contexts_length_is_one_forward_pass(model):
    x = np.random.default_rng(0).normal(size=(3, 12, 3500)).astype(np.float32)
    embeddings = embed(model, x, fs=500, batch_size=2)
    with torch.no_grad():
        direct = model.eval()(torch.from_numpy(x), torch.full((3,), 3500))
    np.testing.assert_allclose(embeddings.rhythm, direct.rhythm.numpy(), atol=1e-5)
    np.testing.assert_allclose(embeddings.patch, direct.patch.numpy(), atol=1e-5)


def test_a_longer_record_is_read_in_windows_that_cover_it(model):
    x = np.random.default_rng(0).normal(size=(1, 12, 5000)).astype(np.float32)
    whole = embed(model, x, fs=500)
    first, last = (embed(model, x[..., start : start + 3500], fs=500) for start in (0, 1500))
    np.testing.assert_allclose(whole.rhythm, (first.rhythm + last.rhythm) / 2, atol=1e-5)
    assert whole.patch.shape == (1, 100, 16)
    middle = (first.patch[:, 30:] + last.patch[:, :40]) / 2
    expected = np.concatenate([first.patch[:, :30], middle, last.patch[:, -30:]], axis=1)
    np.testing.assert_allclose(whole.patch, expected, atol=1e-5)


def test_the_wide_readout_begins_with_h_rhythm_and_is_the_mean_over_windows(model):
    x = np.random.default_rng(0).normal(size=(2, 12, 5000)).astype(np.float32)
    embeddings = embed(model, x, fs=500, readout="wide")
    assert embeddings.wide.shape == (2, 16 * 16 + 12)
    np.testing.assert_array_equal(embeddings.wide[:, :16], embeddings.rhythm)
    np.testing.assert_array_equal(embeddings.rhythm, embed(model, x, fs=500).rhythm)
    parts = [embed(model, x[..., at : at + 3500], fs=500, readout="wide").wide for at in (0, 1500)]
    np.testing.assert_allclose(embeddings.wide, np.mean(parts, axis=0), atol=1e-5)
    with pytest.raises(UsageError, match=r"unknown readout 'all'\. Choose from rhythm, wide, beats"):
        embed(model, x, fs=500, readout="all")


def test_phases_read_a_window_from_several_beginnings_and_leave_h_bar_alone(model, phased, micro):
    x = np.random.default_rng(0).normal(size=(1, 12, 5000)).astype(np.float32)
    beginnings = (0, micro.model.stride // 3, 2 * micro.model.stride // 3)
    starts = [*beginnings, *(1500 - start for start in beginnings)]
    parts = [embed(model, x[..., at : at + 3500], fs=500, readout="wide").wide for at in starts]
    embeddings = embed(phased, x, fs=500, readout="wide", batch_size=4)
    np.testing.assert_allclose(embeddings.wide, np.mean(parts, axis=0), atol=1e-5)
    np.testing.assert_allclose(embeddings.patch, embed(model, x, fs=500).patch, atol=1e-5)


@pytest.mark.parametrize("length", [3500, 2100, 60])
def test_a_record_no_longer_than_the_context_moves_forward_into_padding(model, phased, micro, length):
    x = np.random.default_rng(0).normal(size=(1, 12, length)).astype(np.float32)
    starts = [phase * micro.model.stride // 3 for phase in range(3)]
    enough = [start if length - start >= micro.model.patch else 0 for start in starts]
    parts = [embed(model, x[..., at:], fs=500).rhythm for at in enough]
    np.testing.assert_allclose(embed(phased, x, fs=500).rhythm, np.mean(parts, axis=0), atol=1e-5)


def test_the_order_and_the_case_of_the_leads_do_not_matter(model):
    x = np.random.default_rng(0).normal(size=(1, 12, 3500)).astype(np.float32)
    order = np.random.default_rng(1).permutation(12)
    names = [LEADS[place].upper() for place in order]
    expected = embed(model, x, fs=500).rhythm
    np.testing.assert_allclose(embed(model, x[:, order], fs=500, leads=names).rhythm, expected, atol=1e-5)


@pytest.mark.parametrize("batch_size", [1, 3, 32])
@pytest.mark.parametrize("turn", [1, -1])
def test_a_record_has_one_vector_in_any_batch_and_order(model, batch_size, turn):
    x_BCL = np.stack([make_ecg(seed=seed) for seed in range(5)])
    alone = embed(model, x_BCL[2:3], fs=500, readout="wide").wide[0]
    wide_BW = embed(model, x_BCL[::turn], fs=500, batch_size=batch_size, readout="wide").wide
    assert np.abs(wide_BW[2] - alone).max() <= 1e-6 * np.abs(alone).max(), "as docs/corpus/limits.md says"


def test_an_absent_lead_is_hidden_not_taken_for_a_flat_one(model):
    x = np.random.default_rng(0).normal(size=(1, 12, 3500)).astype(np.float32)
    absent = embed(model, x[:, :6], fs=500, leads=LEADS[:6]).rhythm
    flat = np.concatenate([x[:, :6], np.linspace(0, 1e-3, 3500)[None, None].repeat(6, 1)], axis=1)
    assert np.abs(absent - embed(model, flat, fs=500).rhythm).max() > 1e-4
    noise = torch.from_numpy(np.concatenate([x[:, :6], 5 * x[:, 6:]], axis=1))
    hidden = torch.arange(12) >= 6
    with torch.no_grad():
        direct = model(noise, torch.tensor([3500]), hidden[None]).rhythm.numpy()
    np.testing.assert_allclose(absent, direct, atol=1e-5)


@pytest.mark.parametrize(("fs", "step", "alike"), [(1000, 2, 0.999), (600, 10, 0.99)])
def test_another_sampling_rate_gives_nearly_the_same_embedding(model, fs, step, alike):
    time = np.arange(7 * fs) / fs
    x = np.stack([np.sin(2 * np.pi * (lead + 1) * time) for lead in range(12)])[None]
    quick, slow = embed(model, x, fs=fs).rhythm, embed(model, x[..., ::step], fs=fs // step).rhythm
    assert np.corrcoef(quick[0], slow[0])[0, 1] > alike


def test_a_short_record_is_embedded_as_the_padded_one_that_training_knows(model):
    x = np.random.default_rng(0).normal(size=(1, 12, 1000)).astype(np.float32)
    padded = torch.zeros(1, 12, 3500)
    padded[..., :1000] = torch.from_numpy(x)
    with torch.no_grad():
        direct = model(padded, torch.tensor([1000])).rhythm.numpy()
    np.testing.assert_allclose(embed(model, x, fs=500).rhythm, direct, atol=1e-5)


def test_embedding_changes_no_parameter_and_no_buffer(model):
    before = {name: value.clone() for name, value in model.state_dict().items()}
    embed(model.train(), np.zeros((1, 12, 3500), np.float32), fs=500)
    assert not model.training
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in before.items())


def test_records_of_other_lengths_and_leads_share_batches_and_keep_their_embeddings(model):
    rng = np.random.default_rng(0)
    sizes = [(1000, LEADS), (9000, LEADS[:2]), (3500, LEADS[6:]), (60, LEADS), (5000, ("V1",))]
    records = [(rng.normal(size=(len(leads), length)).astype(np.float32), leads) for length, leads in sizes]
    alone = [embed(model, x_KL[None], fs=500, leads=leads) for x_KL, leads in records]
    recordings = [recording(x_KL, 500, leads, model.config) for x_KL, leads in records]
    for batch_size in (1, 2, 32):
        for one, (rhythm, patch, _) in zip(alone, encode(model, recordings, batch_size), strict=True):
            np.testing.assert_allclose(rhythm, one.rhythm[0], atol=1e-5)
            np.testing.assert_allclose(patch, one.patch[0], atol=1e-5)


@settings(max_examples=20)
@given(length=st.integers(50, 12_000), seed=st.integers(0, 9))
def test_every_whole_patch_of_a_record_has_a_row_and_no_other(model, length, seed):
    x = np.random.default_rng(seed).normal(size=(1, 2, length)).astype(np.float32)
    patch = embed(model, x, fs=500, leads=("I", "II")).patch
    assert patch.shape == (1, (length - 50) // 50 + 1, 16)
    assert np.isfinite(patch).all()


def test_one_second_at_600_hz_has_ten_patches(model):
    assert embed(model, np.zeros((1, 12, 600), np.float32), fs=600).patch.shape == (1, 10, 16)


def test_concept_probabilities_are_those_of_the_rhythm_embedding_and_need_gscl(micro):
    torch.manual_seed(0)
    knowing = MarEcg(micro.model)
    x = np.random.default_rng(0).normal(size=(3, 2, 2000)).astype(np.float32)
    with pytest.raises(UsageError, match="trained without GSCL"):
        marecg.predict(knowing, x, fs=400, leads=("II", "V1"))
    knowing.prototypes.copy_(torch.nn.functional.normalize(torch.randn(40, 8), dim=-1))
    q = marecg.predict(knowing, x, fs=400, leads=("II", "V1"))
    rhythm = torch.from_numpy(marecg.embed(knowing, x, fs=400, leads=("II", "V1")).rhythm)
    near = torch.nn.functional.normalize(knowing.to_concepts(rhythm), dim=-1) @ knowing.prototypes.T
    np.testing.assert_allclose(q, (near / micro.model.tau).softmax(-1).detach().numpy(), rtol=1e-4)


@pytest.mark.parametrize("wrong", [False, True])
def test_a_model_of_a_graph_that_is_not_for_use_says_so(micro, tmp_path, caplog, wrong):
    draft = ecg_ontology.load().draft
    title = draft.header.title + ", a control, not for use" * wrong
    header = draft.header.model_copy(update={"title": title})
    model = MarEcg(micro.model, Ontology(draft.model_copy(update={"header": header}))).eval()
    torch.nn.init.normal_(model.prototypes)
    model.save_pretrained(tmp_path / "model")
    reader_of(tmp_path / "model")
    assert ("not for use" in caplog.text) == wrong


def test_real_records_of_a_minute_at_1000_hz_are_embedded_whole(model, realdata):
    records = [candidate.read() for candidate in find([realdata / "cinc2021" / "ptb"])]
    assert min(record.length / record.fs for record in records) > 30
    recordings = [recording(record.x_CL, record.fs, LEADS, model.config) for record in records]
    for record, (rhythm, patch, _) in zip(records, encode(model, recordings), strict=True):
        assert patch.shape == ((-(-record.length // 2) - 50) // 50 + 1, 16)
        assert np.isfinite(rhythm).all()
        limb = recording(record.x_CL[:2], record.fs, LEADS[:2], model.config)
        (few,) = encode(model, [limb])
        assert np.abs(few.rhythm - rhythm).max() > 1e-4
