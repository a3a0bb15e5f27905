"""A damaged lead is mended or hidden, and its record kept: in the index, in training and in embeddings alike.

Shapes: C leads, L samples.
"""

import re

import numpy as np
import pytest
import torch
from tests.made_records import make_ecg, make_record
from tests.marecg.objectives.test_views import views
from torch import Tensor

import ecg_ontology
from ecg_records.readers.inputs import find_inputs, read_mended
from ecg_records.signal.leads import LEADS
from ecg_records.signal.quality import mended
from marecg.corpus import index, trained_on
from marecg.corpus.batches import BatchStream
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.embedding.embed import embed, encode
from marecg.embedding.inputs import Inputs
from marecg.embedding.recordings import Embedded, embedded
from marecg.errors import Reason, RecordError
from marecg.model.batch import Batch
from marecg.model.mar_ecg import MarEcg
from marecg.objectives.ar import ar_losses
from marecg.objectives.views import CleanConfig
from marecg.train.data import supervise

DAMAGE = {
    "good": ((), ()),
    "artefact": ((8,), (), "V3: 0.50 s of extreme amplitude bridged"),
    "gap": ((7,), (), "V2: 0.50 s of missing samples bridged"),
    "off": ((9,), ("V4",), "V4: flat within 0.01 mV: hidden"),
    "railed": ((7,), ("V2",), "V2: clipped for over 2% of the time: hidden"),
    "open": ((10,), ("V5",), "V5: beyond 10 mV around its median: hidden"),
    "foot": ((5,), (), "aVF: flat within 0.01 mV: derived"),
}
LOST = {"four": "flat-lead", "chest": "flat-lead", "arm": "flat-lead"}


def damaged(kind: str) -> np.ndarray:
    """Twelve leads of 9.4 s in mV, one or more of them damaged."""
    x_CL = make_ecg(9.4)
    x_CL[3] = -(x_CL[0] + x_CL[1]) / 2
    x_CL[[2, 4, 5]] = x_CL[1] - x_CL[0], x_CL[0] - x_CL[1] / 2, x_CL[1] - x_CL[0] / 2
    noise = np.random.default_rng(1).normal(0, 8, x_CL.shape[1])
    if kind == "artefact":
        x_CL[8, 1000:1150] += 15
    elif kind == "gap":
        x_CL[7, 1000:1150] = np.nan
    elif kind == "off":
        x_CL[9] = 0.3
    elif kind == "railed":
        x_CL[7] = np.clip(20 * x_CL[7], -5, 5)
    elif kind == "open":
        x_CL[10] = noise
    elif kind in ("foot", "four", "chest"):
        x_CL[{"foot": slice(5, 6), "four": slice(8, 12), "chest": slice(6, 12)}[kind]] = 0
    elif kind == "arm":  # the left arm's electrode is off: the machine takes the right one's voltage
        x_CL[0], x_CL[2], x_CL[3:6] = 0, x_CL[1], np.outer([-0.5, -0.5, 1], x_CL[1])
    return x_CL


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Records of every kind of damage, and the corpus that is made of them."""
    place = tmp_path_factory.mktemp("damage")
    for kind in (*DAMAGE, *LOST):
        make_record(place / "in", kind, damaged(kind))
    report = prepare([place / "in"], place / "out", jobs=1)
    return place / "in", place / "out", report


def test_a_record_is_kept_with_its_damage_said_until_too_few_leads_are_left(folders):
    _, out, report = folders
    assert {record.path.removesuffix(".hea"): record.reason for record in report.records} == LOST
    rows = index.of(out, ["id", "hidden", "notes", "amplitude_mv", "range_mv"]).to_pylist()
    assert {row["id"]: tuple(row["hidden"]) for row in rows} == {name: of[1] for name, of in DAMAGE.items()}
    for row in rows:
        assert set(DAMAGE[row["id"]][2:]) <= {*row["notes"]}
        assert row["amplitude_mv"] < 10, "measured on the leads that are left"
        assert row["range_mv"] > 0.1
    assert report.mended == {"bridged": 2, "derived": 1, "hidden": 3}


def test_the_paper_hides_no_lead(folders, tmp_path):
    source, *_ = folders
    report = prepare([source], tmp_path / "out", CorpusConfig(hidden_limit=0), jobs=1)
    assert {record.path.removesuffix(".hea") for record in report.records} == {*LOST, "off", "railed", "open"}


def test_only_the_damaged_leads_change(folders):
    corpus = Corpus.open(folders[1])
    for record, x_CL in zip(corpus.ids, corpus.signals(range(len(corpus))), strict=True):
        rows, hidden = DAMAGE[record][:2]
        others = [row for row in range(12) if row not in rows]
        np.testing.assert_allclose(x_CL[others], damaged("good")[others], atol=2e-3)
        if hidden:
            assert not x_CL[list(rows)].any()
        else:
            assert np.abs(x_CL[list(rows)]).max(initial=0) < 2
    foot = corpus.signals([list(corpus.ids).index("foot")])[0, 5]
    np.testing.assert_allclose(foot, damaged("good")[5], atol=2e-3)


def test_a_file_and_its_row_of_a_corpus_have_the_same_vectors(folders, micro):
    source, out, _ = folders
    torch.manual_seed(0)
    model, of = MarEcg(micro.model), {}
    for place in (source, out):
        inputs, done = Inputs([place]), Embedded()
        vectors = embedded(model, inputs, done, 8, readout="full", patches=False)
        of[place] = {row["record"]: vector.wide for row, vector in vectors}
        assert not done.failed
    assert {*of[out]} == {*DAMAGE}
    for name, vector in of[out].items():
        np.testing.assert_allclose(of[source][name], vector, atol=0.02, rtol=0.02, err_msg=name)


def test_a_lead_of_zeros_is_embedded_as_one_that_is_absent(micro):
    torch.manual_seed(0)
    model, x_CL = MarEcg(micro.model), damaged("good").astype(np.float32)
    without = [lead for lead in LEADS if lead != "V4"]
    expected = embed(model, np.delete(x_CL, 9, axis=0)[None], fs=500, leads=without, readout="full")
    for level in (0, 0.3):
        x_CL[9] = level
        got = embed(model, x_CL[None], fs=500, readout="full")
        np.testing.assert_allclose(got.wide, expected.wide, atol=1e-5)
    x_CL[9] = 0
    whole = model(torch.from_numpy(x_CL[None]))
    np.testing.assert_allclose(whole.rhythm.detach(), expected.rhythm, atol=1e-5)


def test_training_sees_no_lead_that_is_hidden_and_asks_for_none(folders, micro):
    corpus = Corpus.open(folders[1])
    whole = BatchStream(corpus, supervise(micro, corpus, ecg_ontology.load()), 7, 1, seed=0).batch(0)
    row = [corpus.ids[number] for number in whole.rows_B.tolist()].index("off")

    def asked(batch: Batch, noise: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        seen = views(micro, batch, CleanConfig())
        if noise is not None:  # what stands there instead of zeros
            seen.__dict__["signal"] = seen.signal._replace(x_BSCP=seen.signal.x_BSCP + noise)
        view, clean = seen.masked, seen.clean()
        losses = ar_losses(view.x_BSCP * 0, view.x_BSCP, view.masked_BTC, ~view.hidden_BSC)
        return view.masked_BTC, clean.h_BTCD, torch.stack([*losses.values()])

    masked_BTC, h_BTCD, losses = asked(whole)
    assert not masked_BTC[row, :, 9].any()
    assert masked_BTC[row, :, 8].any()
    noise = torch.zeros(7, 1, 12, 1)
    noise[row, :, 9] = 3
    for before, after in zip((masked_BTC, h_BTCD, losses), asked(whole, noise), strict=True):
        torch.testing.assert_close(before, after)


def test_an_augmentation_does_not_show_a_hidden_lead(folders, micro):
    corpus = Corpus.open(folders[1])
    batch = BatchStream(corpus, supervise(micro, corpus, ecg_ontology.load()), 7, 1, seed=0).batch(0)
    row = [corpus.ids[number] for number in batch.rows_B.tolist()].index("off")

    def drift(height: float) -> Tensor:
        """H where the augmentation adds a drift, of another height to the hidden lead."""
        height_BC1 = torch.ones(7, 12, 1)
        height_BC1[row, 9] = height
        over_L = torch.linspace(0, 1, batch.d_BCL.shape[-1])
        seen = views(micro, batch, CleanConfig())
        return seen.clean(lambda x_BCL, *_: x_BCL + height_BC1 * over_L).h_BTCD

    torch.testing.assert_close(drift(-2), drift(1))


def test_training_is_found_out_in_a_damaged_record(folders):
    source, out, _ = folders
    trained_on.write(Corpus.open(out), out)
    listed = trained_on.read(out)
    for name, candidate in find_inputs([source]).items():
        assert listed.saw(read_mended(candidate).x_CL) == (name.removeprefix("in/") in DAMAGE), name
    assert not listed.saw(-damaged("good"))


def test_a_record_without_a_usable_lead_is_refused_with_the_reasons_of_all(tmp_path):
    x_CL = np.zeros((12, 5000))
    x_CL[:6, :2000] = np.nan
    x_CL[:6, 2000:] = damaged("good")[:6, :3000]
    make_record(tmp_path, "lost", x_CL)
    [candidate] = find_inputs([tmp_path / "lost.hea"]).values()
    limbs = "no lead is usable (I, II, III, aVR, aVL, aVF: more missing samples"
    with pytest.raises(RecordError, match=re.escape(limbs) + r".*; V1, .*V6: flat") as refused:
        read_mended(candidate)
    assert refused.value.reason == Reason.nan


@np.errstate(invalid="raise")
def test_infinite_samples_hide_their_lead_and_nothing_else():
    x_CL = damaged("good").astype(np.float32)
    x_CL[7, 100:] = np.inf
    mend = mended(x_CL, 500, CorpusConfig())
    assert mend.hidden_C.tolist() == [row == 7 for row in range(12)]
    np.testing.assert_array_equal(np.delete(mend.x_CL, 7, axis=0), np.delete(x_CL, 7, axis=0))


def test_a_limb_lead_is_derived_whatever_stands_behind_the_window():
    x_CL = np.tile(damaged("foot"), 2).astype(np.float32)
    x_CL[0, -100:] = np.nan
    mend = mended(x_CL, 500, CorpusConfig(), judged=4700)
    assert mend.notes == ("aVF: flat within 0.01 mV: derived",)
    np.testing.assert_allclose(mend.x_CL[5, :4700], damaged("good")[5], atol=1e-5)


def test_encode_of_a_silent_record_is_finite(micro):
    from marecg.model.windows import arranged

    ecg = arranged(np.zeros((12, 5000), np.float32), 500, LEADS, micro.model)
    [vector] = encode(MarEcg(micro.model), [ecg], readout="full")
    assert np.isfinite(vector.wide).all()
