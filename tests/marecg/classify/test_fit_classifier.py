"""`marecg classify fit`: labels by name, what is refused, and a folder that every command understands."""

import csv
import json
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cli.calls import run
from tests.made_records import make_ecg, make_record
from tests.marecg.corpus.prepared_folders import with_column

from ecg_base import plain_markdown
from ecg_records.readers.datasets import ptbxl
from marecg import EcgClassifier, MarEcg
from marecg.classify.classifier_scores import ppv
from marecg.classify.fit_classifier import fit_classifier, judged_recordings
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.errors import CorpusError, InputError
from marecg.evaluate.scores.metrics import error_by_chance, expected_calibration_error, reliability
from marecg.evaluate.tasks.label_tables import labels_task, read_labels
from marecg.report.classifier import calls_of, write_classifier_report

RECORDS = 60
MARKUP = "<img src=x onerror=alert(1)> | ![a](http://a.invalid/b) `"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of Georgia, every third of them tall; a patient has one."""
    folder = tmp_path_factory.mktemp("labelled")
    for number in range(RECORDS):
        height = 1.5 if number % 3 == 0 else 0.7
        make_record(folder / "georgia", f"E{number:05d}", height * make_ecg(seed=number))
    prepare([folder / "georgia"], folder / "corpus", CorpusConfig(), jobs=1)
    return folder / "corpus"


def table(path: Path, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def split_of(number: int) -> str:
    return ("train", "train", "val", "test")[number // 3 % 4]


@pytest.fixture(scope="module")
def labels(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Whether a record is tall; `some` is unknown of every fifth; and one record that isn't there."""
    tall = [int(n % 3 == 0) for n in range(RECORDS)]
    rows = [(f"E{n:05d}", each, "" if n % 5 == 0 else each, split_of(n)) for n, each in enumerate(tall)]
    columns = ("record", "tall", "some", "split")
    return table(tmp_path_factory.mktemp("labels") / "tall.csv", columns, [*rows, ("E99999", 1, 1, "test")])


@pytest.fixture(scope="module")
def few_labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Whether a record is tall, of the first 24: beats of all would be measured for seconds."""
    rows = [(f"E{n:05d}", int(n % 3 == 0), split_of(n)) for n in range(24)]
    return table(tmp_path_factory.mktemp("few") / "tall.csv", ("record", "tall", "split"), rows)


@pytest.fixture(scope="module")
def fit(corpus: Path, labels: Path, run_folder: Path) -> Callable[..., int]:
    """Run the command, and return its exit code."""
    given = ("classify", "fit", run_folder, "--data", corpus, "--labels")
    return lambda out, *options, table=labels: run(*given, table, "--out", out, *options)


@pytest.fixture(scope="module")
def clf(fit: Callable[..., int], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("fitted") / "clf"
    assert not fit(out, "--set", "readout=wide")
    return out


def test_labels_are_read_by_name_and_empty_cells_are_unknown(corpus, labels):
    task, has_label_MK = read_labels(labels, corpus)
    assert (task.classes, task.missing) == (("tall", "some"), ("E99999",))
    ids = Corpus.open(corpus).ids
    number_M = np.array([int(ids[int(row)][1:]) for row in task.row_M])
    np.testing.assert_array_equal(task.y_MK[:, 0], number_M % 3 == 0)
    np.testing.assert_array_equal(has_label_MK, np.stack([number_M >= 0, number_M % 5 != 0], axis=1))
    assert task.split_M.tolist() == [split_of(number) for number in number_M]
    assert len(labels_task(labels, corpus).row_M) == has_label_MK.all(axis=1).sum() == RECORDS * 4 // 5


@pytest.mark.parametrize("name", ["E00007", "georgia/E00007"])
def test_a_record_goes_by_any_name_that_a_command_prints_of_it(name, corpus, tmp_path):
    task, _ = read_labels(table(tmp_path / "x.csv", ("id", "tall"), [(name, 1)]), corpus)
    assert [task.recordings.ids[row] for row in task.row_M] == ["georgia/E00007"]


E = [f"E{number:05d}" for number in range(8)]
WHOLE = "record tall split"
PARTS = ("train", "train", "train", "train", "val", "val", "test", "test")


@pytest.mark.parametrize(
    ("columns", "rows", "problem"),
    [
        ("record tall", [("nobody", 1)], "must name records of .*, got 'nobody'"),
        ("record tall", [(E[3], 1), (E[4], "yes")], "got 'yes' in line 3, column tall"),
        ("record tall", [(E[3], 1), (E[3], 0)], "one row per record, got several rows for 'E00003'"),
        ("record", [(E[3],)], "must have at least one column of 0 and 1 for a class"),
        (WHOLE, [(E[3], 1, "dev")], "split must have train, val or test, got 'dev'"),
        ("record tall", [(each, 1) for each in E[3:6]], "class tall has no negatives among the"),
        (WHOLE, [*zip(E, [0, 1] * 3, PARTS, strict=False)], "tall has no positives among the 0 test"),
        (WHOLE, [*zip(E, (0, 1, 0, 0, 1, 0, 1, 0), PARTS, strict=True)], "at least 2 patients among"),
    ],
)  # fmt: skip
def test_labels_that_cannot_be_used_are_one_line_and_no_folder(columns, rows, problem, fit, tmp_path, capsys):
    assert fit(tmp_path / "clf", table=table(tmp_path / "x.csv", columns.split(), rows)) == 3
    error = capsys.readouterr().err
    assert re.search(problem, error), error
    assert "Traceback" not in error
    assert not (tmp_path / "clf").exists()


def test_a_table_of_excel_with_names_of_files_is_read(corpus, tmp_path):
    """German Excel parts cells by semicolons and begins with a mark; names may end as the files do."""
    (tmp_path / "x.csv").write_text("\ufeffrecord;tall\nE00003.hea;1\nE00004.xml;0\n", encoding="utf-8")
    task, _ = read_labels(tmp_path / "x.csv", corpus)
    assert (task.classes, task.missing) == (("tall",), ())
    assert [task.recordings.ids[row] for row in task.row_M] == ["georgia/E00003", "georgia/E00004"]


def test_labels_for_records_that_were_quoted_in_a_cohort_find_them(corpus, tmp_path):
    ids = Corpus.open(corpus).ids
    path = tmp_path / "labels.csv"
    path.write_text(f"record,a\n'=1,1\n{ids[1]},0\n")
    named = with_column(Corpus.open(corpus), tmp_path / "named", id=["=1", *ids[1:]])
    task, _ = read_labels(path, named.folder)
    assert task.row_M.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("record,AF,AF\nE00003,1,0\n", "has 2 columns called 'AF'"),
        ("AF,LBBB\n1,0\n0,1\n", "must have a column with the records' names, but the first column, AF,"),
    ],
)
def test_a_table_of_odd_columns_is_refused(text, problem, corpus, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(InputError, match=problem):
        read_labels(tmp_path / "x.csv", corpus)


def test_few_positives_are_said_and_a_colleague_may_read_every_file(clf):
    """Five of validation's records are tall, and four have a known label in the other class."""
    scores = json.loads((clf / "evaluation.json").read_text())["scores"]
    assert [each["chosen_by"] for each in scores] == [5, 4]
    for file in ("README.md", "report.html"):
        text = " ".join((clf / file).read_text().split())
        assert "Thresholds chosen on fewer than 10 positives of validation: tall (5), some (4)." in text
    assert (clf / "head.safetensors").stat().st_mode == (clf / "classifier.json").stat().st_mode


def test_classes_of_which_one_holds_are_called_by_the_likeliest(fit, corpus, tmp_path, capsys):
    """The prevalence of the user's own place is the other PPV, by Bayes."""
    tall = [int(n % 3 == 0) for n in range(RECORDS)]
    rows = [(f"E{n:05d}", each, 1 - each, split_of(n)) for n, each in enumerate(tall)]
    labels = table(tmp_path / "one.csv", ("record", "tall", "short", "split"), rows)
    options = ("--exclusive", "--prevalence", "tall=0.01", "--set", "readout=wide")
    assert not fit(tmp_path / "clf", *options, table=labels)
    assert "PPV of tall at a prevalence of 0.01: " in capsys.readouterr().err
    assert "PPV at prevalence" in (tmp_path / "clf" / "report.html").read_text()
    readout = json.loads((tmp_path / "clf" / "classifier.json").read_text())["readout"]
    assert f"a new head on its {readout} readout" in (tmp_path / "clf" / "README.md").read_text()
    classifier = EcgClassifier.load(tmp_path / "clf")
    assert not classifier.several_
    frame = pd.read_parquet(tmp_path / "clf" / "predictions.parquet")
    np.testing.assert_allclose(frame["p tall"] + frame["p short"], 1)
    score = json.loads((tmp_path / "clf" / "evaluation.json").read_text())["scores"][0]
    called = frame["p tall"] > frame["p short"]
    calls = calls_of(frame, {"tall": 0.9, "short": 0.9}, exclusive=True)
    assert (calls["tall"] == called).all()
    assert (calls["short"] == ~called).all(), "what the page draws doesn't go by thresholds"
    assert score["sensitivity"] == called[frame["label tall"] == 1].mean()
    expected = ppv(score["sensitivity"], score["specificity"], 0.01)
    assert score["ppv_at_prevalence"] == expected
    description = json.loads((tmp_path / "clf" / "classifier.json").read_text())
    description["thresholds"] = [0.999, 0.001]  # by which none or the unlikelier one would be called
    (tmp_path / "clf" / "classifier.json").write_text(json.dumps(description))
    signals = Corpus.open(corpus).signals([0, 1])
    for x_CL, first in zip(signals, ("tall", "short"), strict=True):
        np.save(tmp_path / "one.npy", x_CL)
        line = ("predict", tmp_path / "clf", tmp_path / "one.npy", "--fs", 500)
        assert not run(*line, "--format", "json")
        calls = json.loads(capsys.readouterr().out)
        assert [(call["called"], call["threshold"]) for call in calls] == [(True, None), (False, None)]
        assert calls[0]["name"] == first
        assert not run(*line)
        likeliest, other = capsys.readouterr().out.splitlines()
        assert (likeliest.endswith("% (called: most probable)"), other.endswith("%")) == (True, True)
    labels = table(tmp_path / "two.csv", ("record", "tall", "short"), [("E00003", 1, 1), ("E00004", 1, 0)])
    assert fit(tmp_path / "two", "--exclusive", table=labels) == 3
    assert "1 of 2 records don't have exactly one class, e.g. georgia/E00003 has 2" in capsys.readouterr().err
    assert fit(tmp_path / "two", "--prevalence", "tall=2") == 2


def test_a_ppv_is_that_of_bayes():
    """Of a thousand records 100 have it: 80 of them are called, and 90 of the 900 others."""
    assert ppv(0.8, 0.9, 0.1) == pytest.approx(80 / (80 + 90))
    assert ppv(0.0, 1.0, 0.1) is None, "nobody is called"


def test_a_corpus_in_which_a_judged_record_is_not_there_is_another_one(clf, corpus, tmp_path):
    shutil.copytree(clf, tmp_path / "clf")
    frame = pd.read_parquet(clf / "predictions.parquet")
    frame.loc[0, "row"] = RECORDS  # one behind the last
    frame.to_parquet(tmp_path / "clf" / "predictions.parquet")
    with pytest.raises(CorpusError, match="isn't the corpus on which the classifier was evaluated"):
        judged_recordings(tmp_path / "clf", corpus)


def test_a_patient_on_two_sides_is_refused(corpus, tmp_path):
    same = with_column(Corpus.open(corpus), tmp_path / "same", patient=["one"] * RECORDS)
    rows = [(E[number], 1, PARTS[number]) for number in (3, 4, 6)]
    path = table(tmp_path / "x.csv", ("record", "tall", "split"), rows)
    with pytest.raises(InputError, match=r"must be in one part, but \S*one is in 3 parts"):
        read_labels(path, same.folder)


def test_the_folder_says_how_the_classifier_does_on_test(clf):
    evaluation = json.loads((clf / "evaluation.json").read_text())
    tall, some = evaluation["scores"]
    assert (tall["name"], tall["records"], tall["positives"]) == ("tall", 15, 5)
    assert (some["records"], evaluation["missing"]) == (12, 1)
    assert tall["auc"] == 1.0
    frame = pd.read_parquet(clf / "predictions.parquet")
    assert (frame["label tall"] == (frame["id"].str[1:].astype(int) % 3 == 0)).all()
    assert frame["label some"].isna().sum() == 3


def test_the_same_record_gets_the_same_probability_from_python_and_the_command(clf, corpus, capsys):
    frame, prepared = pd.read_parquet(clf / "predictions.parquet"), Corpus.open(corpus)
    rows = frame["row"].to_numpy()
    signals = prepared.signals(rows)[:, :, : prepared.n_valid[rows[0]]]
    p_BK = EcgClassifier.load(clf).predict_proba(signals)
    np.testing.assert_allclose(p_BK, frame[["p tall", "p some"]].to_numpy(), rtol=1e-3, atol=1e-5)
    np.save(clf.parent / "one.npy", signals[0])
    assert not run("predict", clf, clf.parent / "one.npy", "--fs", 500, "--format", "json")
    calls = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert calls["tall"]["probability"] == pytest.approx(p_BK[0, 0], rel=1e-3, abs=1e-5)
    assert calls["tall"]["called"] == (calls["tall"]["probability"] >= calls["tall"]["threshold"])


def test_it_is_a_model_too(clf, corpus, run_folder, tmp_path):
    assert MarEcg.from_pretrained(clf).config == MarEcg.from_pretrained(run_folder).config
    assert not run("embed", clf, corpus, "--out", tmp_path / "e.npz")
    assert len(np.load(tmp_path / "e.npz")["id"]) == RECORDS


def test_its_page_shows_every_chart_without_a_network_and_its_card_every_class(clf):
    page = (clf / "report.html").read_text()
    assert page.count("<svg") >= 5
    for part in ("Curves", "Calibration", "Confusion", "Groups", "Worst errors"):
        assert f"<h2>{part}</h2>" in page
    assert not re.search(r'(src|href)="(?!#|data:)', page), "nothing is fetched"
    assert "| tall * | 15 | 5 | 100.0 |" in " ".join((clf / "README.md").read_text().split())


def test_a_class_called_by_markup_opens_nothing_in_a_classifiers_readme_and_page(clf, corpus, tmp_path):
    folder = Path(shutil.copytree(clf, tmp_path / "clf"))
    for name in ("classifier.json", "evaluation.json"):
        content = (folder / name).read_text().replace('"tall"', json.dumps(MARKUP))
        (folder / name).write_text(content)
    frame = pd.read_parquet(folder / "predictions.parquet")
    frame.columns = np.array([name.replace(" tall", f" {MARKUP}") for name in frame.columns])
    frame.to_parquet(folder / "predictions.parquet")
    page = write_classifier_report(folder, Corpus.open(corpus)).read_text()
    for text in (page, (folder / "README.md").read_text()):
        assert "<img" not in text
    assert plain_markdown(MARKUP) in (folder / "README.md").read_text()


def test_an_older_classifier_is_replaced_and_another_folder_is_not(clf, fit, few_labels, tmp_path, capsys):
    """The command says what the head of the new one reads: full, because its loss is clearly lower."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").touch()
    assert fit(mine, "--threshold", "f1") == 2
    assert [path.name for path in mine.iterdir()] == ["thesis.txt"]
    clf = shutil.copytree(clf, tmp_path / "clf")
    assert not fit(clf, "--threshold", "f1", table=few_labels)
    assert EcgClassifier.load(clf).threshold == "f1"
    evaluation = json.loads((clf / "evaluation.json").read_text())
    losses = evaluation["losses"]
    assert list(losses) == ["wide", "beats", "full"]
    assert evaluation["readout"] == EcgClassifier.load(clf).readout_ == min(losses, key=losses.get)
    error = capsys.readouterr().err
    assert f"readout: {evaluation['readout']} (log loss on validation: wide {losses['wide']:.3f}" in error
    assert ("marecg export requires the wide readout" in error) == (evaluation["readout"] != "wide")


def test_a_folder_whose_classifier_is_of_another_format_is_refused(clf, tmp_path):
    classifier = json.loads((clf / "classifier.json").read_text())
    (tmp_path / "classifier.json").write_text(json.dumps({**classifier, "format": 9}))
    (tmp_path / "model").symlink_to(clf / "model")
    assert run("predict", tmp_path, "anything.hea") == 3


def test_the_error_of_true_probabilities_is_chance_and_of_others_what_they_are_off_by():
    rng = np.random.default_rng(0)
    p_M = rng.random(20_000)
    y_M = (rng.random(20_000) < p_M).astype(float)
    assert expected_calibration_error(y_M, p_M) == pytest.approx(error_by_chance(p_M), abs=0.005)
    assert expected_calibration_error(y_M, p_M * 0.8) == pytest.approx(0.1, abs=0.01)
    bins = reliability(y_M, p_M)
    assert bins.count_N.tolist() == [2000] * 10
    np.testing.assert_allclose(bins.predicted_N, np.arange(0.05, 1, 0.1), atol=0.01)


@pytest.mark.slow
def test_real_records_that_the_encoder_was_pretrained_on_are_marked(realdata, tmp_path):
    """NORM of PTB-XL: folds 9 and 10 were kept from the pretraining of marecg-small, 8 was in it.

    Records with a damaged chest lead were kept from it, too, and are left out here.
    """
    config = CorpusConfig(ptbxl_folds=(8, 9, 10), hidden_limit=0)
    prepare([realdata / "ptbxl"], tmp_path / "corpus", config, jobs=1)
    parts = {8: "test", 9: "val", 10: "train"}
    records = [each for each in ptbxl.database(realdata / "ptbxl") if each.fold in parts]
    rows = [(each.ecg_id, int("NORM" in each.scp), parts[each.fold]) for each in records]
    labels = table(tmp_path / "norm.csv", ("ecg_id", "NORM", "split"), rows)
    given = ("--data", tmp_path / "corpus", "--labels", labels, "--out", tmp_path / "clf")
    assert not run("classify", "fit", "marecg-small", *given)
    evaluation = json.loads((tmp_path / "clf" / "evaluation.json").read_text())
    (norm,) = [each for each in evaluation["scores"] if not each["group"]]
    assert norm["auc"] > 0.8
    assert norm["ece"] < 3 * norm["ece_chance"]
    assert evaluation["seen"] == norm["records"] > 80
    assert "pretrained" in evaluation["leak"]


def test_the_same_command_again_takes_its_embedding_and_gives_the_same_classifier(
    fit, corpus, few_labels, run_folder, tmp_path, capsys, monkeypatch
):
    """A batch that is damaged is computed again, and that one alone. Another folder takes all of them."""
    out, embedding = tmp_path / "again", corpus.with_name("corpus-embedding")
    older = {*embedding.iterdir()} if embedding.exists() else set()
    monkeypatch.setattr("marecg.classify.fit_classifier.FILE_RECORDS", 8)

    def full() -> int:
        classifier = EcgClassifier(run_folder, "head", readout="full")
        return fit_classifier(classifier, corpus, out, few_labels).reused

    assert full() == 0
    before = (out / "predictions.parquet").read_bytes()
    kept = {*embedding.iterdir()} - older
    min(kept).write_bytes(b"damaged")
    assert full() == 16
    assert (out / "predictions.parquet").read_bytes() == before
    assert {*embedding.iterdir()} - older == kept
    wide = ("--set", "readout=wide")  # the beginning of the full readout
    assert not fit(tmp_path / "other", *wide, table=few_labels)
    assert f"embedding: 24 records reused from an earlier run in {embedding}" in capsys.readouterr().err
