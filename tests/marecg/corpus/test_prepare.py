"""`marecg prepare`: everything accounted for, nothing half-written, the same bytes whatever happens."""

import errno
import fcntl
import hashlib
import json
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.marecg.made_records import make_bigeminy, make_ecg

from marecg.config import CorpusConfig
from marecg.corpus import prepare as module
from marecg.corpus.account import Account
from marecg.corpus.plan import locked, routing_sha256
from marecg.corpus.prepare import prepare
from marecg.corpus.prepare_record import prepare_block, windowed
from marecg.corpus.verify import damaged_records
from marecg.ecg.rpeaks import detect, detect_best
from marecg.ecg.signal import resample
from marecg.errors import CorpusError, OutputError
from marecg.read.any_leads import read_one
from marecg.read.array_layout import Layout
from marecg.read.discovery import find

SMALL = CorpusConfig(shard=2)
Write = Callable[..., Path]


def digest(folder: Path) -> dict[str, str]:
    """Every file of a folder, hidden ones too, with a hash of its bytes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_every_record_is_kept_or_quarantined_with_its_reason(source: Path, tmp_path: Path) -> None:
    report = prepare([source], tmp_path / "out", jobs=1)
    assert (report.found, report.kept) == (8, 5)
    assert report.quarantined == {"flat-lead": 1, "gain": 1, "no-signal-file": 1}
    assert report.sources["ptb"] == Account(found=2, kept=2, quarantined={})
    assert report.records[0].model_dump() == {
        "source": "georgia",
        "root": "records",
        "path": "georgia/E00003.hea",
        "reason": "flat-lead",
        "message": report.records[0].message,
    }
    assert json.loads((tmp_path / "out" / "report.json").read_text()) == report.as_json()


def test_the_index_says_what_each_record_was_and_is(source: Path, tmp_path: Path) -> None:
    prepare([source], tmp_path / "out", SMALL, jobs=1)
    rows = pq.read_table(tmp_path / "out" / "index.parquet").to_pylist()
    assert [row["id"] for row in rows] == ["E00000", "E00001", "E00002", "S0001", "S0002"]
    assert [(row["shard"], row["row"]) for row in rows] == [(0, 0), (0, 1), (1, 0), (3, 0), (3, 1)]
    at_1000, short = rows[3], rows[4]
    assert (at_1000["fs"], at_1000["length"], at_1000["n_valid"]) == (1000, 12000, 4700)
    assert (short["length"], short["n_valid"]) == (3000, 3000)
    assert (short["codes"], short["leaves"], short["primary"]) == (["54329005"], [19, 25], 25)
    assert short["notes"] == ["code 54329005 given twice"]
    np.testing.assert_allclose(at_1000["rpeaks"], np.arange(200, 4700, 400), atol=2)


def test_shards_hold_microvolts_and_zeros_behind_the_end(source: Path, tmp_path: Path) -> None:
    prepare([source], tmp_path / "out", SMALL, jobs=1)
    shard = np.load(tmp_path / "out" / "shards" / "00003.npy", mmap_mode="r")
    assert (shard.dtype, shard.shape) == (np.int16, (2, 12, 4700))
    assert 950 < shard[1, 0, :3000].max() < 1050
    assert not shard[1, :, 3000:].any()


def test_a_shard_is_the_file_that_numpy_would_save(source: Path, tmp_path: Path) -> None:
    prepare([source], tmp_path / "corpus", jobs=1)
    (shard,) = (tmp_path / "corpus" / "shards").iterdir()
    np.save(tmp_path / "again.npy", np.load(shard))
    assert shard.read_bytes() == (tmp_path / "again.npy").read_bytes()


def test_run_twice_it_writes_the_same_bytes_and_the_number_of_processes_does_not_matter(
    source: Path, tmp_path: Path
) -> None:
    prepare([source], tmp_path / "one", SMALL, jobs=1)
    prepare([source], tmp_path / "two", SMALL, jobs=2)
    assert digest(tmp_path / "one") == digest(tmp_path / "two")
    prepare([source], tmp_path / "one", SMALL, jobs=1)
    assert digest(tmp_path / "one") == digest(tmp_path / "two")


@pytest.mark.parametrize("records", [1, 2, 3])
def test_how_many_records_a_task_has_does_not_matter(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: int
) -> None:
    prepare([source], tmp_path / "one", jobs=1)
    monkeypatch.setattr(module, "BLOCK", records)
    prepare([source], tmp_path / "two", jobs=1)
    assert digest(tmp_path / "one") == digest(tmp_path / "two")


def test_the_order_of_the_sources_and_where_they_are_mounted_do_not_matter(
    source: Path, tmp_path: Path
) -> None:
    parts = [source / "ptb", source / "georgia"]
    prepare(parts, tmp_path / "one", jobs=1)
    prepare([*parts[::-1], source / "ptb"], tmp_path / "two", jobs=1)
    moved = tmp_path / "elsewhere" / "records"
    shutil.copytree(source, moved)
    prepare([moved / "georgia", moved / "ptb"], tmp_path / "three", jobs=1)
    assert digest(tmp_path / "one") == digest(tmp_path / "two") == digest(tmp_path / "three")


def in_child(action: Callable[[], None]) -> int:
    """Run `action` in a forked process; its exit code, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        try:
            action()
        except OutputError:
            os._exit(7)
        finally:
            os._exit(int(sys.exc_info()[0] is not None))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_at_rename(number: int, run: Callable[[], object]) -> Callable[[], None]:
    """Run, but end the process by SIGKILL just before its n-th file takes its final name."""

    def action() -> None:
        rename, left = Path.replace, iter(range(number))

        def replace(self: Path, target: Path) -> Path:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return rename(self, target)

        Path.replace = replace  # type: ignore[method-assign]
        run()

    return action


def test_killed_at_any_file_and_started_again_it_ends_with_the_bytes_of_an_unbroken_run(
    source: Path, tmp_path: Path
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    prepare([source], whole, SMALL, jobs=1)
    deaths = 0
    while in_child(killed_at_rename(deaths % 4 + 1, lambda: prepare([source], broken, SMALL, jobs=1))) != 0:
        deaths += 1
        assert deaths < 40, "every run gets a little further"
    assert deaths > 4
    assert digest(broken) == digest(whole)


def test_what_a_killed_run_has_finished_is_not_done_again(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert in_child(killed_at_rename(8, lambda: prepare([source], out, SMALL, jobs=1))) == -signal.SIGKILL
    finished = {path: path.stat().st_mtime_ns for path in (out / "building").glob("0*.json")}
    assert len(finished) == 2
    seen: list[tuple[int, int, int]] = []
    first_shard = (out / "shards" / "00000.npy").stat().st_mtime_ns
    prepare([source], out, SMALL, jobs=1, watch=lambda *counts: seen.append(counts))
    assert seen[0][1] + seen[0][2] == 6, "four were done before, the first step does two more"
    assert seen[-1] == (8, 5, 3)
    assert (out / "shards" / "00000.npy").stat().st_mtime_ns == first_shard


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_full_disk_is_one_clear_error_and_leaves_nothing_half_written(
    source: Path, tmp_path: Path, jobs: int
) -> None:
    out = tmp_path / "out"

    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        prepare([source], out, jobs=jobs)

    assert in_child(full) == 7, "an OutputError"
    assert set(digest(out)) == {"building/plan.json"}
    assert prepare([source], out, jobs=1).kept == 5


def test_an_output_that_cannot_be_made_is_an_output_error(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OutputError, match="file"):
            prepare([source], out, jobs=1)


def test_two_runs_on_one_output_refuse_politely(source: Path, tmp_path: Path) -> None:
    with locked(tmp_path / "out"), pytest.raises(CorpusError, match="another process"):
        prepare([source], tmp_path / "out", jobs=1)
    assert prepare([source], tmp_path / "out", jobs=1).kept == 5


def test_a_file_system_without_locks_is_said_and_used(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Lustre is often mounted so."""

    def unknown(handle: int, operation: int) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", unknown)
    assert prepare([source], tmp_path / "corpus", SMALL, jobs=1).kept == 5
    assert "can't be locked (Function not implemented)" in caplog.text


def test_an_output_of_other_records_or_settings_is_refused_and_left_alone(
    source: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    prepare([source], out, jobs=1)
    before = digest(out)
    with pytest.raises(CorpusError, match="other sources and records"):
        prepare([source / "ptb"], out, jobs=1)
    with pytest.raises(CorpusError, match="other settings"):
        prepare([source], out, SMALL, jobs=1)
    with pytest.raises(CorpusError, match="other routing profile"):
        prepare([source], out, profile="curated", jobs=1)
    assert digest(out) == before


def test_the_hash_of_the_routing_covers_which_leaves_a_code_has() -> None:
    def routing(leaves: tuple[int, ...]) -> Any:
        return SimpleNamespace(codes=("a", "b"), route=lambda code: SimpleNamespace(leaves=leaves))

    assert routing_sha256(routing((5,))) == routing_sha256(routing((5,)))
    assert routing_sha256(routing((5,))) != routing_sha256(routing((6,)))


def test_a_folder_that_holds_something_else_is_refused_and_left_alone(source: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(CorpusError, match=r"not empty \(.*thesis.tex"):
        prepare([source], tmp_path, jobs=1)
    assert (tmp_path / "thesis.tex").exists()
    mine = tmp_path / "mine" / "building"
    mine.mkdir(parents=True)
    (mine / "plan.dwg").write_text("x")
    with pytest.raises(CorpusError, match=r"not empty \(plan.dwg"):
        prepare([source], mine.parent, jobs=1)
    assert (mine / "plan.dwg").exists()


def test_a_hidden_file_of_the_users_survives_and_one_of_a_killed_run_does_not(
    source: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert in_child(killed_at_rename(3, lambda: prepare([source], out, SMALL, jobs=1))) == -signal.SIGKILL
    for name in (".gitignore", ".00001-0123abcd.npy"):
        (out / "shards" / name).write_text("x")
    prepare([source], out, SMALL, jobs=1)
    assert sorted(path.name for path in (out / "shards").glob(".*")) == [".gitignore"]


def test_a_corpus_within_its_own_source_is_no_source(tmp_path: Path, ecg: Callable[..., np.ndarray]) -> None:
    np.save(tmp_path / "clinic.npy", np.stack([ecg(seed=seed) for seed in range(5)]))

    def again() -> None:
        prepare([tmp_path], tmp_path / "out", SMALL, jobs=1, layout=Layout(500))

    assert in_child(killed_at_rename(3, again)) == -signal.SIGKILL
    assert list((tmp_path / "out" / "shards").glob("*.npy"))
    again()
    again()
    assert len(pq.read_table(tmp_path / "out" / "index.parquet")) == 5


def test_a_source_that_is_missing_or_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match=r"no WFDB header \(.hea\)"):
        prepare([tmp_path / "empty"], tmp_path / "out", jobs=1)
    with pytest.raises(CorpusError, match="is not there"):
        prepare([tmp_path / "missing"], tmp_path / "out", jobs=1)
    assert not (tmp_path / "out").exists()


def test_a_corpus_of_which_nothing_could_be_kept_still_gives_its_account(
    tmp_path: Path, write_record: Write
) -> None:
    write_record(tmp_path / "in", scale="0/mV")
    report = prepare([tmp_path / "in"], tmp_path / "out", jobs=1)
    assert (report.found, report.kept, report.quarantined) == (1, 0, {"gain": 1})


def test_what_lies_behind_the_window_condemns_no_record(tmp_path: Path, write_record: Write) -> None:
    x_CL = make_ecg()
    x_CL[3, 4800:4810] = np.nan
    x_CL[4, 4900] = 30
    write_record(tmp_path / "wfdb", "A0001", x_CL)
    assert prepare([tmp_path / "wfdb"], tmp_path / "out", jobs=1).kept == 1


def test_a_window_is_the_beginning_of_the_whole_recording_resampled(
    tmp_path: Path, write_record: Write
) -> None:
    """A filter that met the window's end would bend its last samples; a millivolt is drawn behind it."""
    x_CL = make_ecg(12, 1000)
    x_CL[:, 9401:] += 1
    record = read_one(write_record(tmp_path, "A0001", x_CL, fs=1000))
    d_CL, n_valid = windowed(record, CorpusConfig())
    whole_CL = resample(record.x_CL, 1000, 500)[:, :4700]
    assert n_valid == 4700
    np.testing.assert_allclose(d_CL, whole_CL * 1000, atol=1)


def test_what_is_no_number_behind_the_window_is_not_drawn_into_it_by_the_filter(
    tmp_path: Path, write_record: Write
) -> None:
    x_CL = make_ecg(12, 1000)
    cut = read_one(write_record(tmp_path, "A0001", x_CL[:, :9404], fs=1000))
    x_CL[3, 9404:9410] = np.nan
    gap = read_one(write_record(tmp_path, "A0002", x_CL, fs=1000))
    np.testing.assert_array_equal(windowed(gap, CorpusConfig())[0], windowed(cut, CorpusConfig())[0])


def test_a_record_without_usable_peaks_is_kept(tmp_path: Path, write_record: Write) -> None:
    rng = np.random.default_rng(0)
    ramp = np.linspace(0.01, 0.2, 5000) + rng.normal(0, 1e-4, (12, 5000))
    write_record(tmp_path / "in", x_CL=ramp)
    prepare([tmp_path / "in"], tmp_path / "out", jobs=1)
    row = pq.read_table(tmp_path / "out" / "index.parquet").to_pylist()[0]
    assert isinstance(row["rpeaks"], list)


def test_beats_are_looked_for_in_lead_i_unless_the_best_lead_is_asked_for(
    tmp_path: Path, write_record: Write
) -> None:
    x_CL, beats = make_bigeminy(0.5)
    write_record(tmp_path / "in", x_CL=x_CL)
    found = {}
    for lead in ("I", "best"):
        config = CorpusConfig.model_validate({"rpeaks_lead": lead})
        prepare([tmp_path / "in"], tmp_path / lead, config, jobs=1)
        found[lead] = pq.read_table(tmp_path / lead / "index.parquet").to_pylist()[0]["rpeaks"]
    before_the_end = beats[beats < 4700]
    np.testing.assert_allclose(found["best"], before_the_end, atol=4)
    np.testing.assert_allclose(found["I"], before_the_end[::2], atol=4)


@pytest.mark.parametrize("lead", ["I", "best"])
def test_records_of_a_block_have_the_beats_of_their_own_stored_samples_whatever_their_length(
    lead: str, tmp_path: Path, write_record: Write, ecg: Callable[..., np.ndarray]
) -> None:
    for number, seconds in enumerate((10, 6, 12, 6.5)):
        write_record(tmp_path, f"E0000{number}", ecg(seconds, seed=number))
    block = prepare_block(find([tmp_path]), CorpusConfig.model_validate({"rpeaks_lead": lead}))
    assert [row["n_valid"] for row in block.rows] == [4700, 3000, 4700, 3250]
    for row, d_CL in zip(block.rows, block.signals_nCL, strict=True):
        x_CL = d_CL[:, : row["n_valid"]] / 1000
        alone = detect(x_CL[0], 500) if lead == "I" else detect_best(x_CL, 500)
        assert row["rpeaks"] == alone.tolist()
        assert len(alone) >= 7


def test_a_corpus_from_before_a_setting_is_one_with_its_default(source: Path, tmp_path: Path) -> None:
    prepare([source], tmp_path / "out", jobs=1)
    described = tmp_path / "out" / "corpus.json"
    about = json.loads(described.read_text())
    del about["config"]["rpeaks_lead"]
    described.write_text(json.dumps(about))
    prepare([source], tmp_path / "out", jobs=1)
    with pytest.raises(CorpusError, match="other settings"):
        prepare([source], tmp_path / "out", CorpusConfig(rpeaks_lead="best"), jobs=1)


def test_bit_identical_signals_under_two_names_are_reported(tmp_path: Path, write_record: Write) -> None:
    for name, gain, scale in (
        ("A0101", 1000, "1000/mV"),
        ("Q0048", 2000, "2000/mV"),
        ("A0102", 1000, "1000/mV"),
    ):
        x_CL = np.round(np.random.default_rng(name == "A0102").normal(0, 0.3, (12, 5000)), 3)
        write_record(tmp_path / "in", name, x_CL, gain=gain, scale=scale)
    assert prepare([tmp_path / "in"], tmp_path / "out", jobs=1).duplicates == (
        ("in/A0101.hea", "in/Q0048.hea"),
    )


def test_ptbxl_and_challenge_folders_may_be_mixed_below_one_source(
    tmp_path: Path, source: Path, write_record: Write
) -> None:
    release = source / "downloads" / "ptb-xl"
    write_record(release / "records500", "00007_hr")
    (release / "ptbxl_database.csv").write_text(
        "ecg_id,patient_id,age,sex,scp_codes,strat_fold,filename_hr\n"
        "7,1.0,50.0,1,{'NORM': 80.0},3,records500/00007_hr\n"
    )
    report = prepare([source], tmp_path / "out", jobs=1)
    assert {name: account.found for name, account in report.sources.items()} == {
        "georgia": 6,
        "ptb": 2,
        "ptbxl": 1,
    }


def test_a_shard_that_a_power_cut_emptied_is_written_anew(source: Path, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    prepare([source], whole, SMALL, jobs=1)
    assert in_child(killed_at_rename(8, lambda: prepare([source], broken, SMALL, jobs=1))) == -signal.SIGKILL
    (broken / "shards" / "00000.npy").write_bytes(b"")
    prepare([source], broken, SMALL, jobs=1)
    assert digest(broken) == digest(whole)


@pytest.mark.parametrize("name", ["shards/00000.npy", "index.parquet", "report.json"])
def test_a_finished_corpus_that_a_power_cut_damaged_is_prepared_anew(
    source: Path, tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "out"
    prepare([source], out, SMALL, jobs=1)
    before = digest(out)
    (out / name).write_bytes(b"")
    prepare([source], out, SMALL, jobs=1)
    assert digest(out) == before
    assert "it is prepared anew" in caplog.text


def test_a_corpus_that_is_complete_is_said_to_be(
    source: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prepare([source], tmp_path / "out", jobs=1)
    assert not caplog.text
    prepare([source], tmp_path / "out", jobs=1)
    assert "is complete already: nothing was done" in caplog.text


def test_corrected_sources_are_not_answered_with_the_old_corpus(source: Path, tmp_path: Path) -> None:
    prepare([source], tmp_path / "out", jobs=1)
    header = source / "georgia" / "E00000.hea"
    header.write_text(header.read_text().replace("426783006", "164889003"))
    with pytest.raises(CorpusError, match="holds a corpus of other records"):
        prepare([source], tmp_path / "out", jobs=1)


def test_nobody_but_owner_and_group_may_read_who_is_in_a_corpus(source: Path, tmp_path: Path) -> None:
    prepare([source], tmp_path / "out", jobs=1)
    assert not (tmp_path / "out" / "index.parquet").stat().st_mode & 0o007


def test_a_bit_that_flipped_on_the_disk_is_found(source: Path, tmp_path: Path) -> None:
    prepare([source], tmp_path / "out", jobs=1)
    assert damaged_records(tmp_path / "out") == []
    shard = tmp_path / "out" / "shards" / "00000.npy"
    content = bytearray(shard.read_bytes())
    content[-7] ^= 1
    shard.write_bytes(content)
    assert damaged_records(tmp_path / "out") == ["records/ptb/g1/S0002.hea"]
