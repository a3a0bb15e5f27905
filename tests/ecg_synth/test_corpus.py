"""Corpora on disk: readable by wfdb, reproducible, whole or absent, with the truth beside every record."""

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import wfdb

from ecg_base import UsageError
from ecg_synth import write_corpus
from ecg_synth.leads import LEADS

N, SEED = 12, 5


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("synth") / "corpus"
    write_corpus(folder, N, SEED)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def truths(folder: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("S*.truth.json"))]


def test_wfdb_reads_twelve_leads_in_millivolts_and_its_checksums_agree(corpus):
    names = (corpus / "RECORDS").read_text().split()
    assert len(names) == N
    for name in names:
        record = wfdb.rdrecord(str(corpus / name), physical=False)
        assert (record.fs, record.sig_len, record.sig_name) == (500, 5000, list(LEADS))
        assert record.units == ["mV"] * 12
        assert [sum_ % 65536 for sum_ in record.checksum] == record.calc_checksum()
        assert record.init_value == record.d_signal[0].tolist()
        assert 0.2 < np.abs(wfdb.rdrecord(str(corpus / name)).p_signal).max() < 8


def test_headers_carry_age_sex_and_the_codes_of_the_truth(corpus):
    for truth in truths(corpus):
        comments = dict(line.split(": ") for line in wfdb.rdheader(str(corpus / truth["name"])).comments)
        assert comments["Age"] == str(truth["age"])
        assert comments["Sex"] == truth["sex"]
        assert comments["Dx"].split(",") == truth["codes"] == truth["header_codes"]


def test_the_truth_orders_the_waves_of_every_beat_and_its_intervals_fit_them(corpus):
    for truth in truths(corpus):
        beats = {name: np.array(values, dtype=object) for name, values in truth["beats"].items()}
        sizes = {values.size for values in beats.values()}
        assert len(sizes) == 1
        for k in range(sizes.pop()):
            times = [beats[name][k] for name in ("p_onset", "qrs_onset", "r_peak", "qrs_offset", "t_end")]
            known = [time for time in times if time is not None]
            assert known == sorted(known)
            assert abs(beats["r_sample"][k] / 500 - beats["r_peak"][k]) <= 0.0011
            assert beats["qrs"][k] == pytest.approx(beats["qrs_offset"][k] - beats["qrs_onset"][k], abs=2e-4)
        assert 0 < truth["intervals"]["qrs"] < truth["intervals"]["qt"]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not(corpus, tmp_path):
    write_corpus(tmp_path / "again", N, SEED)
    write_corpus(tmp_path / "other", N, SEED + 1)

    assert contents(tmp_path / "again") == contents(corpus)
    assert contents(tmp_path / "other")["S00001.mat"] != contents(corpus)["S00001.mat"]


def test_a_smaller_corpus_is_the_beginning_of_a_larger_one(corpus, tmp_path):
    write_corpus(tmp_path / "small", N // 2, SEED)
    small = {name: data for name, data in contents(tmp_path / "small").items() if name.startswith("S")}
    assert len(small) == 3 * (N // 2)
    assert small.items() <= contents(corpus).items()


def test_label_noise_changes_headers_only_and_about_as_many_as_asked(tmp_path):
    write_corpus(tmp_path / "clean", 40, 1)
    write_corpus(tmp_path / "noisy", 40, 1, label_noise=0.5)
    clean, noisy = contents(tmp_path / "clean"), contents(tmp_path / "noisy")
    wrong = [truth for truth in truths(tmp_path / "noisy") if truth["codes"] != truth["header_codes"]]

    assert all(noisy[name] == data for name, data in clean.items() if name.endswith(".mat"))
    assert 10 <= len(wrong) <= 30
    assert sum(noisy[name] != clean[name] for name in clean if name.endswith(".hea")) == len(wrong)
    assert all(truth["header_codes"] for truth in wrong)


def test_another_seed_mislabels_other_records(tmp_path):
    wrong = []
    for seed in (1, 2):
        write_corpus(tmp_path / str(seed), 40, seed, diagnoses=("NSR",), label_noise=0.5)
        wrong.append([each["codes"] != each["header_codes"] for each in truths(tmp_path / str(seed))])
    assert wrong[0] != wrong[1]


def test_noise_zero_is_clean_and_more_noise_is_noisier(tmp_path):
    def roughness(factor):
        write_corpus(tmp_path / str(factor), 3, 2, noise=factor)
        signals = [wfdb.rdrecord(str(tmp_path / str(factor) / f"S0000{i}")).p_signal for i in (1, 2, 3)]
        return float(np.median([np.abs(np.diff(signal, n=3, axis=0)).mean() for signal in signals]))

    assert 4 * roughness(0) < roughness(1) < roughness(3)


def test_leading_findings_can_be_chosen(tmp_path):
    written = write_corpus(tmp_path / "c", 20, 0, diagnoses=("LBBB", "AF"))
    assert all({"LBBB", "AF"} & set(truth["diagnoses"]) for truth in truths(tmp_path / "c"))
    assert sum(written.diagnoses[name] for name in ("LBBB", "AF")) >= 20


def test_an_older_synthetic_corpus_is_replaced_whole(tmp_path):
    write_corpus(tmp_path / "c", 5, 0)
    write_corpus(tmp_path / "c", 2, 0)
    assert len((tmp_path / "c" / "RECORDS").read_text().split()) == 2
    assert len(list((tmp_path / "c").glob("*.hea"))) == 2


@pytest.mark.parametrize("names", [("S0001.hea", "S0001.mat", "RECORDS"), ("thesis.tex",)])
def test_a_folder_with_other_files_is_left_alone(names, tmp_path):
    """Records of PTB in the Challenge are called S0001, S0002, …, nearly as synthetic ones."""
    for name in names:
        (tmp_path / name).write_text("years of work")
    with pytest.raises(UsageError, match=f"holds {names[-1]}, which would be lost"):
        write_corpus(tmp_path, 1, 0)
    assert contents(tmp_path) == dict.fromkeys(sorted(names), b"years of work")


@pytest.mark.parametrize(
    ("records", "seed", "options", "problem"),
    [
        (0, 0, {}, "records must be at least 1, got 0"),
        (-3, 0, {}, "records must be at least 1, got -3"),
        (1, -1, {}, "seed must be at least 0, got -1"),
        (1, 0, {"noise": -1}, "noise must be at least 0, got -1"),
        (1, 0, {"noise": float("nan")}, "noise must be at least 0, got nan"),
        (1, 0, {"label_noise": 1.5}, "label noise must be a probability, got 1.5"),
        (1, 0, {"diagnoses": ("XYZ",)}, "unknown diagnosis: XYZ"),
        (1, 0, {"quirks": ("rot13",)}, "unknown quirk: rot13"),
    ],
)
def test_an_impossible_request_is_refused_and_writes_nothing(records, seed, options, problem, tmp_path):
    with pytest.raises(UsageError, match=problem):
        write_corpus(tmp_path / "c", records, seed, **options)
    assert not list(tmp_path.iterdir())


def test_a_failure_half_way_leaves_no_folder(tmp_path):
    def stop(done, total, note=""):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_corpus(tmp_path / "c", 5, 0, progress=lambda _: nullcontext(stop))
    assert not list(tmp_path.iterdir())
