"""`marecg prepare` and `marecg audit` as a user types them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.cli.calls import call
from tests.cli.calls import invoke as run

from ecg_records.signal.leads import LEADS
from marecg.corpus.prepared import Corpus
from marecg.errors import CheckpointError
from marecg_cli._classify import _prepared as prepared_of
from marecg_cli._corpus_text import print_table


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One good record and one without its signal file."""
    folder = tmp_path_factory.mktemp("source") / "georgia"
    folder.mkdir()
    beat = np.exp(-(((np.arange(5000) / 500 % 0.8 - 0.4) / 0.012) ** 2))
    noise = np.random.default_rng(0).normal(0, 0.01, (12, 5000))
    digital = np.rint((np.linspace(0.5, 1.5, 12)[:, None] * beat + noise) * 1000).astype("<i2")
    digital.T.tofile(folder / "E00001.dat")
    for name in ("E00001", "E00002"):
        lines = [f"{name} 12 500 5000", *(f"{name}.dat 16 1000/mV 16 0 0 0 0 {lead}" for lead in LEADS)]
        (folder / f"{name}.hea").write_text("\n".join([*lines, "#Dx: 164889003", ""]))
    return folder


@pytest.fixture(scope="module")
def prepared(source: Path) -> tuple[Path, tuple[int, str, str]]:
    """The corpus of it, and how the command ended."""
    corpus = source.parent / "corpus"
    return corpus, run("prepare", source, "--out", corpus, "--jobs", 1)


@pytest.fixture
def corpus(prepared: tuple[Path, object], tmp_path: Path) -> Path:
    return shutil.copytree(prepared[0], tmp_path / "corpus")


def test_prepare_prints_what_was_kept_and_says_why_the_rest_was_not(prepared):
    code, out, err = prepared[1]
    assert code == 0
    assert "no-signal-file" in out
    assert "georgia/E00002.hea: no-signal-file: the signal file E00002.dat is missing" in err


@pytest.mark.parametrize("form", ["text", "json"])
def test_prepare_says_in_one_line_and_by_its_exit_code_that_nothing_could_be_kept(source, tmp_path, form):
    shutil.copy(source / "E00002.hea", tmp_path / "E00002.hea")
    code, out, err = run("prepare", tmp_path, "--out", tmp_path / "c", "--jobs", 1, "--format", form)
    assert (code, "no-signal-file" in out) == (1, True)
    assert f"{tmp_path / 'c'}: all 1 records are quarantined. See report.json" in err.splitlines()[-1]


def test_results_for_machines_are_json_on_stdout(source, tmp_path):
    _, out, _ = run("prepare", source, "--out", tmp_path / "corpus", "--jobs", 1, "--format", "json")
    assert json.loads(out)["quarantined"] == {"no-signal-file": 1}
    stats = json.loads(out)["statistics"]
    assert (stats["kept"], stats["leaves"]["AF"], stats["codes_per_record"]["histogram"]) == (1, 1, {"1": 1})


def test_a_finished_corpus_is_described_again(source, prepared, corpus):
    code, out, err = run("prepare", source, "--out", corpus, "--jobs", 1)
    assert (code, out, "already complete" in err) == (0, prepared[1][1], True)
    lines = out.splitlines()
    for title in ("Records", "Codes per record", "Records per leaf", "The corpus"):
        assert lines[lines.index(title) + 1].startswith("┏"), "a title stands above its table"


def test_a_damaged_record_is_named_and_ends_with_1(corpus):
    assert run("audit", corpus, "--verify") == (0, "0 damaged records\n", "")
    (shard,) = (corpus / "shards").iterdir()
    content = bytearray(shard.read_bytes())
    content[-1000] ^= 1
    shard.write_bytes(content)
    code, out, err = run("audit", corpus, "--verify", "--format", "json")
    assert (code, json.loads(out), "damaged: georgia/E00001.hea" in err) == (
        1,
        {"damaged": ["georgia/E00001.hea"]},
        True,
    )


def test_audit_ends_with_1_when_evaluation_records_are_in_the_corpus(source, corpus):
    code, out, err = run("audit", corpus, "--against", source)
    assert code == 1
    assert "bit-identical signals" in out
    assert "leaves: 1 in the corpus, 1 in the evaluation set, 1 in both" in out
    assert "leaking: georgia/E00001.hea: the same record id, bit-identical signals, near-duplicate" in err
    code, out, _ = run("audit", corpus, "--against", source, "--format", "json")
    assert (code, json.loads(out)["leaking"]) == (1, ["georgia/E00001.hea"])


def test_a_setting_is_changed_by_its_name(source, tmp_path):
    given = ("prepare", source, "--out", tmp_path / "a", "--format", "json", "--set")
    assert json.loads(run(*given, "amplitude_limit=1")[1])["quarantined"]["extreme-amplitude"] == 1


def test_the_papers_corpus_is_set_beside_its_tables(source, tmp_path):
    code, out, _ = run("prepare", source, "--out", tmp_path / "corpus", "--select", "paper")
    assert (code, "8,296" in out) == (0, True)
    words = " ".join(out.replace("│", " ").split())
    assert "the paper kept 80% of the published records, by thresholds that it doesn't state" in words


def test_arrays_are_prepared_with_what_the_options_say_of_them(tmp_path):
    array, noise = tmp_path / "clinic.npz", np.random.default_rng(0).normal(0, 0.01, (3, 12, 2500))
    beat = np.exp(-(((np.arange(2500) / 250 % 0.8 - 0.4) / 0.02) ** 2)) + noise
    np.savez(array, ecg=beat * 1000, filtered=beat)
    options = ("--fs", 250, "--set", "array.units=uV", "--set", "array.key=ecg", "--jobs", 1)
    _, out, _ = run("prepare", array, "--out", tmp_path / "corpus", *options, "--format", "json")
    assert json.loads(out)["sources"] == {"clinic": {"found": 3, "kept": 3, "quarantined": {}}}
    assert json.loads(out)["statistics"]["sources"]["clinic"]["fs"] == ["250"]


def test_a_file_name_gives_the_terminal_no_orders(tmp_path):
    folder = tmp_path / "\x1b[2Jred"
    folder.mkdir()
    (folder / "a\x1b]0;b.hea").write_text("no header")
    _, out, err = run("prepare", tmp_path, "--out", tmp_path / "out", "--jobs", 1)
    assert "\x1b" not in out + err
    assert ("\\x1b[2Jred" in out, "a\\x1b]0;b.hea" in err) == (True, True)


def test_a_table_of_codes_labels_records_and_coverage_counts_it(source, tmp_path):
    table = tmp_path / "icd.csv"
    table.write_text("ecg;dx\nE00001;I48.0\nE00001;Z99\nE00009;I48.0\n")
    why = "subject_id\tpredicate_id\tobject_id\tmapping_justification\n"
    mapping = tmp_path / "icd10.sssom.tsv"
    mapping.write_text(f"{why}icd10:I48.0\tskos:broadMatch\tsnomedct:164889003\tsemapv:LexicalMatching\n")
    values = ("id_column=ecg", "code_column=dx", "vocabulary=icd10", f"mapping={mapping}")
    options = [word for value in values for word in ("--set", f"codes.{value}")]
    code, _, err = run("prepare", source, "--out", tmp_path / "c", "--jobs", 1, "--codes", table, *options)
    assert code == 0
    assert "1 records with codes, 1 without a row, 1 ids without a record, 1 codes without a concept" in err
    assert "id without a record: E00009" in err
    assert "code without a concept: icd10:Z99 (unknown), 1 records" in err
    assert json.loads(call("coverage", table, *options, "--format", "json")[1])["leaves"]["AF"] == 2


def test_no_word_of_a_table_is_cut_at_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    headings = (
        "source",
        "found",
        "kept",
        "kept %",
        "of corpus",
        "Hz",
        "sampling-rate",
        "extreme-amplitude",
        "flat",
    )
    print_table("Records", headings, {"georgia": (10344, 10302, "99.6%", "12.5%", "500, 1000", 3, 17, 22)})
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_classifier_of_records_prepares_them_beside_itself_if_its_model_is_there(source, tmp_path, caplog):
    with pytest.raises(CheckpointError):
        prepared_of(source, "marecg-smal", tmp_path / "clf")
    assert not any(tmp_path.iterdir())
    with caplog.at_level("INFO", "marecg_cli"):
        corpus = prepared_of(source, "marecg-small", tmp_path / "clf")
    assert (corpus, len(Corpus.open(corpus))) == (tmp_path / "clf-corpus", 1)
    assert "prepared in" in caplog.text
    assert "no-signal-file" in caplog.text
    assert prepared_of(corpus, "marecg-small", tmp_path / "clf") == corpus
