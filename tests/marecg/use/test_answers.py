"""Answers are fitted on coded records and judged on others: how often they come true and are told."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit

import ecg_ontology
from ecg_synth import write_corpus
from marecg.classify.calibration import Calibration, calibrate
from marecg.corpus.prepare import prepare
from marecg.errors import InputError
from marecg.use import fit_answers as module
from marecg.use.answers import Answers, logits, marked

ONTO = ecg_ontology.load()
AT = {node.abbr: node.index for node in ONTO.nodes}


def shares(**of: float) -> np.ndarray:
    """Q of one record, [1, N]; what isn't named shares the rest."""
    q_1N = np.full((1, len(ONTO)), (1 - sum(of.values())) / (len(ONTO) - len(of)))
    for abbr, share in of.items():
        q_1N[0, AT[abbr]] = share
    return q_1N


def told(answers: Answers, q_1N: np.ndarray, risk: float) -> set[str]:
    return {ONTO.nodes[one.concept].abbr for one in answers.select(ONTO, q_1N, risk)[0]}


def test_a_family_has_the_mass_of_q_on_all_of_it_and_a_leaf_its_own_share():
    share_N = 1 / (1 + np.exp(-logits(ONTO, shares(LBBB=0.3, RBBB=0.4))[0]))
    of_family = [at for at, root in enumerate(ONTO.families) if root == AT["Conduction"]]
    assert share_N[AT["Conduction"]] == pytest.approx(shares(LBBB=0.3, RBBB=0.4)[0, of_family].sum())
    assert share_N[AT["LBBB"]] == pytest.approx(0.3)


def test_a_leaf_is_told_where_it_is_sure_its_family_where_that_alone_is_and_else_nothing():
    plain = Answers(
        weights="", records=0, of={name: Calibration() for name in ("Conduction", "LBBB", "RBBB")}
    )
    assert told(plain, shares(LBBB=0.95), 0.1) == {"LBBB"}
    assert told(plain, shares(LBBB=0.5, RBBB=0.45), 0.1) == {"Conduction"}
    assert told(plain, shares(LBBB=0.5, RBBB=0.2), 0.1) == set()
    assert told(plain, shares(LBBB=0.5, RBBB=0.2), 0.5) == {"LBBB"}
    assert told(plain, shares(AF=0.99), 0.1) == set()  # nothing is calibrated of it


def test_answers_that_were_fitted_come_true_as_often_as_they_say(records):
    q_MN, y_MN = records
    fit, judge = slice(0, None, 2), slice(1, None, 2)
    is_MN = marked(ONTO, y_MN)
    logit_MN = logits(ONTO, q_MN)
    of = {
        name: calibrate(logit_MN[fit, AT[name]], is_MN[fit, AT[name]].astype(float), "temperature")
        for name in ("Conduction", "Ischemic", "LBBB")
    }
    answers = Answers(weights="", records=len(q_MN[fit]), of=of)
    tables = "\n".join(module.judged(answers, ONTO, q_MN[judge], y_MN[judge]))
    before, after = (float(cell.strip(" %")) for cell in _row(tables, "mean").split("|")[3:5])
    assert before > 10
    assert after < 5
    wrong, apart, _ = module.curve_point(answers, ONTO, q_MN[judge], is_MN[judge], 0.2)
    assert len(apart) == len(wrong) > 100  # none is of the family Normal
    assert np.mean(apart) < 0.2


def test_a_concept_that_fewer_than_twenty_records_bear_is_left_alone(records, monkeypatch):
    q_MN, y_MN = records
    monkeypatch.setattr(module, "weights_sha256", lambda model: "0")
    y_MN[:, AT["WPW"]] = np.arange(len(y_MN)) < module.LEAST - 1
    fitted = module.fitted(_Model(), q_MN, y_MN)
    assert set(fitted.of) == {"Conduction", "Ischemic", "LBBB", "TWI"}


def test_labels_of_a_hundred_records_adapt_the_answers_to_another_hospital(records, tmp_path):
    """There, far fewer records than the shares suggest have LBBB. Answers on TWI, without labels, stay."""
    q_MN, _ = records
    draw = np.random.default_rng(1)
    true_M = expit(1.8 * logit(q_MN[:, AT["LBBB"]]) + 1)
    has_M = draw.random(len(q_MN)) < true_M
    here = Calibration(kind="temperature", slope=1.8, shift=2.5)
    answers = Answers(weights="", records=0, of={"LBBB": here, "TWI": here})
    names, labels = [{f"a.r{row}", "everywhere"} for row in range(len(q_MN))], tmp_path / "labels.csv"
    rows = [f"a.r{row}{'.hea' * (row % 2)},{int(has_M[row])}" for row in range(100)]
    labels.write_text("\n".join(["record,LBBB", *rows, "other,1"]), encoding="utf-8")
    adapted = answers.recalibrated(ONTO, q_MN, names, answers.read_labels(labels), labels)
    assert (adapted.of["TWI"], adapted.weights) == (here, "")
    before, after = (
        np.abs(fitted.probabilities(ONTO, q_MN)[:, AT["LBBB"]] - true_M).mean()
        for fitted in (answers, adapted)
    )
    assert before > 0.15
    assert after < 0.07


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("record,AF\nr1,1", "no calibrated concept 'AF'"),
        ("record,LBBB\nx1,1", "must name a predicted record, got none"),
        ("record,LBBB\nr1,1\nr1.hea,1", "one row per record, got several rows for 'r1.hea'"),
        ("record,LBBB\nr1,1\nhere/r1,1", "one row per record, got several rows for 'here/r1'"),
        ("record,LBBB\nr1,2", "got '2' in line 2, column LBBB"),
    ],
)
def test_labels_that_fit_no_answer_or_record_are_refused(records, tmp_path, text, problem):
    q_MN, _ = records
    answers = Answers(weights="", records=0, of={"LBBB": Calibration()})
    path = tmp_path / "labels.csv"
    path.write_text(text, encoding="utf-8")
    names = [{"r1", "here/r1"}, {"r2"}, {"r3"}]
    with pytest.raises(InputError, match=problem):
        answers.recalibrated(ONTO, q_MN[:3], names, answers.read_labels(path), path)


@pytest.fixture
def records() -> tuple[np.ndarray, np.ndarray]:
    """Q that is too timid: a block or an inverted T wave is likelier than its share says."""
    generator = np.random.default_rng(0)
    y_MN, q_MN = np.zeros((2000, len(ONTO)), np.uint8), np.zeros((2000, len(ONTO)))
    for name in ("LBBB", "TWI"):
        share_M = 0.45 * expit(generator.normal(size=len(y_MN), scale=2))
        q_MN[:, AT[name]] = share_M
        y_MN[:, AT[name]] = generator.random(len(y_MN)) < expit(1.8 * logit(share_M) + 2.5)
    q_MN[:, AT["NSR"]] = 1 - q_MN.sum(1)
    return q_MN, y_MN


@pytest.fixture(scope="module")
def corpora(tmp_path_factory) -> dict[str, Path]:
    """Twelve synthetic hearts that fit, and as many of other seeds that judge."""
    folder = tmp_path_factory.mktemp("answers")
    for seed, name in enumerate(("fit", "judge")):
        write_corpus(folder / name / name, 12, seed, diagnoses=["AF", "LBBB", "NSR"])
        prepare([folder / name / name], folder / f"{name}-prepared", jobs=1)
    return {name: folder / f"{name}-prepared" for name in ("fit", "judge")}


def test_the_command_writes_answers_tables_and_the_curve_and_goes_on_from_what_it_kept(
    corpora, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(module, "LEAST", 3)
    call = ["marecg-small", "--fit", str(corpora["fit"]), "--judge", str(corpora["judge"])]
    module.main([*call, "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert printed == (tmp_path / "answers.md").read_text(encoding="utf-8")
    assert "| risk | answers | wrong | outside Normal |" in printed
    assert {"answers.json", "answers.md", "answers.svg"} < {path.name for path in tmp_path.iterdir()}
    first = (tmp_path / "answers.json").read_bytes()
    monkeypatch.setattr(module, "predict_table", None)  # what was predicted is kept
    module.main([*call, "--out", str(tmp_path)])
    assert (tmp_path / "answers.json").read_bytes() == first


def test_a_corpus_that_cannot_judge_is_refused_in_one_line(corpora, tmp_path, capsys):
    fit = str(corpora["fit"])
    for judge, problem in ((fit, "12 patients that are also in --fit"), (str(corpora["judge"]), "20 coded")):
        with pytest.raises(SystemExit) as end:
            module.main(["marecg-small", "--fit", fit, "--judge", judge, "--out", str(tmp_path / "out")])
        err = capsys.readouterr().err
        assert (end.value.code, err.count("\n"), problem in err) == (3, 1, True)


class _Model:
    ontology = ONTO


def _row(table: str, name: str) -> str:
    [row] = [line for line in table.splitlines() if line.startswith(f"| {name} ")]
    return row
