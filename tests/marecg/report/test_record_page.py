"""The page of one record: the ECG first, whether to believe it, what was measured, in two languages."""

import re
import string
import tomllib
from pathlib import Path

import numpy as np
import pytest
import wfdb
from tests.cli.calls import invoke
from tests.made_records import make_ecg, make_record
from tests.marecg.corpus.prepared_folders import with_column
from tests.marecg.own_graphs import cardiac_with_an_axis
from tests.marecg.report.test_page import Checked, read

import ecg_records
from ecg_records.measurements.intervals import Measurements, measure
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.datasets import ptbxl
from ecg_records.signal.leads import LEADS
from ecg_synth import write_corpus
from marecg.classify.calibration import Calibration
from marecg.classify.classifier import EcgClassifier
from marecg.classify.classifier_scores import Evaluation, GroupScore
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.embedding.inputs import Inputs
from marecg.errors import CheckpointError, CorpusError, UsageError
from marecg.evaluate.scores.results import AucDifference, Report
from marecg.model.card_figures import Score
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256
from marecg.report import texts as module
from marecg.report.probes import Verdict, trust
from marecg.report.record_facts import measurement_facts, measurement_remarks
from marecg.report.record_page import FINDINGS, _RecordPage, write_record
from marecg.report.records import from_file
from marecg.report.texts import Texts
from marecg.report.tracing import NAME_HEIGHTS, NAME_SIZE, tracing
from marecg.use.answers import ANSWERS, Answers
from marecg.use.predict import predict_table, reader_of

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A clean record of each of some findings.

    The block's is drawn at 72/min: at the others' seed it has 39/min and a P wave 0.4 s before each complex,
    which the second detector counts, so there are dashes.
    """
    headers = {}
    for name, seed in {"AF": 3, "STach": 3, "SBrad": 3, "LBBB": 8, "NSR": 3}.items():
        folder = tmp_path_factory.mktemp(name)
        write_corpus(folder, 1, seed, diagnoses=(name,), noise=0.2)
        [headers[name]] = folder.rglob("*.hea")
    return headers


@pytest.fixture(scope="module")
def german(run: Path, corpus_folder: Path, records: dict[str, Path]) -> Checked:
    out = run.parent / "af.html"
    assert write_record(run, records["AF"], out, data=corpus_folder, language="de") == out
    return read(out)


def test_the_page_is_sound_and_begins_with_the_record_and_the_ecg(german, run):
    assert german.targets == [f"#{each}" for each in german.ids]
    assert german.headings == ["Das EKG", "Die ähnlichsten EKGs mit Befund", "Technische Einzelheiten"]
    text = (run.parent / "af.html").read_text(encoding="utf-8")
    assert '<html lang="de">' in text
    assert text.index("<h1>") < text.index("nicht gezeigt, dass man diesem Encoder glauben kann")
    assert "<details open" not in text, "what is technical is folded"
    assert not list(run.parent.glob("*.tmp"))


def test_codes_findings_and_families_have_their_german_names(german):
    assert "Kodiert ist: Vorhofflimmern (AF)" in german.text
    assert "Vorhofflimmern (AF)\u00a0●" in german.text, "what is coded is marked among the findings"
    findings, families = german.text.split("Krankheit.Befund")[1].split("Familie", 1)
    assert "Erregungsleitung (Conduction)" in families
    assert "Erregungsleitung (Conduction)" not in findings, "a family is no finding"


def test_a_record_by_itself_leaves_the_runs_report_and_pictures_alone(run, page, records):
    before = {path: path.read_bytes() for path in [page, *(run / "pictures").iterdir()]}
    out = run.parent / "nsr.html"
    assert invoke("report", run, records["NSR"], "--out", out)[:2] == (0, f"{out}\n")
    assert {path: path.read_bytes() for path in before} == before
    assert "nearest neighbours" not in out.read_text(encoding="utf-8").lower(), "no corpus, no neighbours"


def test_every_text_is_written_in_every_language_with_the_same_blanks():
    path = Path(module.__file__).with_name("texts.toml")
    texts = tomllib.loads(path.read_text(encoding="utf-8"))
    assert texts.pop("captions")
    for key, by_language in texts.items():
        assert list(by_language) == ["en", "de"], key
        blanks = [{name for _, name, _, _ in string.Formatter().parse(text)} for text in by_language.values()]
        assert blanks[0] == blanks[1], key
    with pytest.raises(UsageError, match="language must be en or de, got 'fr'"):
        Texts("fr")
    assert Texts("de")("similarity", cosine=0.5) == "Ähnlichkeit 0,50"
    assert (Texts("de").number(-12.34, 1), Texts("en").number(None)) == ("−12,3", "–")


def test_remarks_of_a_fast_heart_and_of_a_child_who_has_the_limits_of_the_age():
    say, fast = Texts("en"), Measurements(rate=123, pr=225, qrs=90, qt=300)
    assert measurement_remarks(fast, say, 40) == f"{say('pr_long')} {say('qtc_fast')}"
    beyond = say("child_beyond", what="rate 123 (48–107), PR 225 (106–178)")
    assert measurement_remarks(fast, say, 15) == f"{say('child_fast')} {beyond}"
    assert measurement_remarks(fast._replace(pr=100), say, 0.5, "F") == say("child_fast") + " " + say(
        "child_beyond", what="QRS 90 (52–80)"
    )
    assert (
        measurement_remarks(fast._replace(pr=100), say, 0) == f"{say('child_fast')} {say('child_no_limits')}"
    )
    slow = Measurements(rate=70, pr=160, qrs=80, qt=400)
    assert measurement_remarks(slow, say, 13, "M") == say("child_within")
    assert measurement_remarks(slow, say) == ""


def test_a_pause_and_a_rate_that_is_not_the_usual_one_have_a_remark():
    say, steady = Texts("en"), Measurements(rate=75, usual_rate=77, longest_cycle=900)
    assert measurement_remarks(steady, say) == ""
    for changed in (steady._replace(longest_cycle=4000), steady._replace(usual_rate=90)):
        remark = measurement_remarks(changed, say)
        assert "75/min is the mean" in remark
        assert f"{changed.usual_rate}/min the median" in remark
        assert f"{changed.longest_cycle / 1000:.1f} s" in remark


def test_a_long_qtc_is_to_be_checked_by_hand():
    say, long = Texts("en"), Measurements(rate=60, pr=160, qrs=80, qt=500)
    assert measurement_remarks(long, say) == say("qtc_long")
    assert "by hand" in say("qtc_long")
    assert measurement_remarks(long._replace(qt=499), say) == ""


def test_a_pr_in_a_record_coded_as_atrial_fibrillation_has_a_remark():
    say, measured = Texts("en"), Measurements(rate=75, pr=160, qrs=90, qt=400)
    assert measurement_remarks(measured, say, 40, codes=["NSR"]) == ""
    for abbr in ("AF", "AFL"):
        assert measurement_remarks(measured, say, 40, codes=["LBBB", abbr]) == say("pr_in_af")
        assert measurement_remarks(measured._replace(pr=None), say, 40, codes=[abbr]) == ""


def test_the_page_of_a_record_without_an_age_asks_for_it_and_takes_a_childs(run, tmp_path):
    header = make_record(tmp_path, "child", make_ecg(seconds=10), comments=())
    text = read(write_record(run, header, tmp_path / "p.html")).text
    assert "write the page again with --age" in text
    text = read(write_record(run, header, tmp_path / "p.html", age=0.5)).text
    assert "--age" not in text
    assert "6 months" in text
    assert "Rijnbeek" in text


def test_a_childs_fast_heart_has_no_qtc():
    say, fast = Texts("en"), Measurements(rate=123, qt=300)
    assert measurement_facts(fast, say, 3)["QTc (Bazett)"] == "–"
    assert measurement_facts(fast, say, 30)["QTc (Bazett)"] == "430 ms"


def test_what_is_measured_is_what_the_rhythm_and_the_block_say(records, german):
    found = {name: ecg_records.read(header) for name, header in records.items()}
    measured = {name: measure(each.x_KL, each.fs, each.leads) for name, each in found.items()}
    assert (measured["STach"].rate or 0) > 100
    assert (measured["SBrad"].rate or 99) < 60
    assert (measured["LBBB"].qrs or 0) > 20 + (measured["NSR"].qrs or 999)
    assert re.search("Frequenz.*PQ.*QRS.*QT.*QTc.*Achse", german.text, re.DOTALL)
    assert german.text.index("QTc") < german.text.index("25 mm/s"), "intervals stand above the sheet"


def probe(report: Report, versus: tuple[float, float], leaks: int | None, share: float = 0.1) -> Report:
    """The report with this paired interval at a share."""
    paired = AucDifference(mean=sum(versus) / 2, low=versus[0], high=versus[1], p=0.1)
    own, rival = (cell.model_copy(update={"fraction": share}) for cell in report.cells)
    leak = report.leak.model_copy(update={"records": leaks}) if report.leak and leaks is not None else None
    cells = (own, rival.model_copy(update={"versus_encoder": paired}))
    return report.model_copy(update={"cells": cells, "leak": leak})


@pytest.mark.parametrize(
    ("versus", "leaks", "verdict"),
    [
        ((-0.09, -0.01), 0, Verdict.better),
        ((-0.09, 0.03), 0, Verdict.even),
        ((0.01, 0.05), 0, Verdict.worse),
        ((-0.09, -0.01), 3, Verdict.leaking),
    ],
)
def test_whether_to_believe_follows_from_the_paired_interval(report, versus, leaks, verdict):
    judged = trust([probe(report, versus, leaks)])
    assert (judged.verdict, judged.records) == (verdict, 94)
    assert Texts("en")(f"trust_{verdict}", **judged._asdict())


def test_the_worst_verdict_of_several_probes_counts_each_at_its_largest_share(report):
    small, large = probe(report, (0.01, 0.05), None), probe(report, (-0.05, -0.01), None, 1.0)
    better = large.model_copy(update={"cells": (*small.cells, *large.cells)})
    worse = probe(report, (0.01, 0.05), None, 1.0)
    assert trust([better]) == (Verdict.better, "PTB-XL super", 94, True), "nobody knows of a leak"
    assert not trust([worse]).leak_unknown, "what is not believed needs no further doubt"
    assert trust([better, worse]).verdict is trust([worse, better]).verdict is Verdict.worse


def carded(method: str, auc: float, leaks: bool | None = False, fraction: float = 1.0) -> Score:
    figures = {"auc": auc, "low": auc - 0.05, "high": min(1.0, auc + 0.05), "leaks": leaks}
    return Score(task="ptbxl-form", method=method, fraction=fraction, tested=39, **figures)


@pytest.mark.parametrize(
    ("own", "rival", "leaks", "verdict"),
    [
        (0.9, 0.7, False, Verdict.better),
        (0.9, 0.7, None, Verdict.better),
        (0.9, 0.85, False, Verdict.even),
        (0.7, 0.9, False, Verdict.worse),
        (0.9, 0.7, True, Verdict.leaking),
    ],
)
def test_a_model_without_probes_is_believed_as_far_as_its_card_says(own, rival, leaks, verdict):
    mine = [carded("encoder, wide", own, leaks), carded("encoder", 0.5)]
    others = [carded("hand-crafted", rival), carded("hand-crafted", 0.99, fraction=0.1)]
    assert trust([], mine + others) == (verdict, "PTB-XL form", 39, leaks is None)
    assert trust([], mine).verdict is Verdict.untested, "beside nothing it is not tested"
    assert trust([]).verdict is Verdict.untested


def test_the_name_of_a_lead_gives_way_to_its_waves_and_stays_in_its_row():
    """Below a wave that hides its usual place, or beside one that crosses all heights."""
    quiet = np.zeros((12, 5000), np.float32)
    loud, high = quiet.copy(), quiet.copy()
    loud[1, 100:150] = 0.9  # 9 mm high, where the name of lead II usually stands
    high[1, 50:150] = np.linspace(0, 3, 100)  # 2.5 to 7.5 mm behind the lead's beginning
    name = r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>II<'
    usual, below, beside = (re.findall(name, tracing(each, 500)) for each in (quiet, loud, high))
    assert len(usual) == len(below) == len(beside) == 2
    for (x, y), (below_x, below_y), (beside_x, beside_y) in zip(usual, below, beside, strict=True):
        baseline = float(y) - NAME_HEIGHTS[0]
        assert (below_x, beside_y) == (x, y) == ("11", y)
        assert not float(below_y) - NAME_SIZE < baseline - 9 < float(below_y) < baseline
        assert float(beside_x) - 10 > 7.5


def test_a_page_says_that_it_shows_the_beginning_and_what_few_leads_cannot_tell(run, tmp_path):
    """A minute of three limb leads has no axis, and nobody knows whether its arms are swapped."""
    x_KL = make_ecg(seconds=60)[:3]
    header = make_record(tmp_path, "minute", x_KL, leads=("I", "II", "III"))
    text = read(write_record(run, header, tmp_path / "p.html", language="de")).text
    assert "die ersten 10,0 von 60,0 s mit 500 Hz, 3 Ableitungen" in text
    assert "lässt sich ohne die Ableitungen I und V6 nicht sagen" in text
    assert "Achse: dafür braucht es die Ableitungen I und aVF" in text


def test_where_no_run_is_named_the_page_is_of_the_installed_encoder(records, tmp_path):
    pytest.importorskip("marecg_small")
    code, _, error = invoke("report", records["AF"], "--out", tmp_path / "af.html", "--lang", "de")
    assert (code, error) == (0, "model: marecg-small-codes\n")
    page = read(tmp_path / "af.html")
    assert "Was der Encoder „marecg-small-codes“ in diesem EKG sieht" in page.text


def test_a_corpus_of_another_graph_or_without_labels_shows_no_wrong_findings(run, records, tmp_path):
    """Leaf 40 of the one graph is none of the other, and leaf 7 may be another finding."""
    other = cardiac_with_an_axis(tmp_path / "graph")
    prepare([records["LBBB"].parent], tmp_path / "other", jobs=1, ontology=other)
    with pytest.raises(CheckpointError, match="another enumeration"):
        write_record(run, records["AF"], tmp_path / "p.html", data=tmp_path / "other")
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(0, 0.3, (1, 12, 5000)))
    prepare([tmp_path / "a.npy"], tmp_path / "plain", jobs=1, layout=Layout(fs=500))
    with pytest.raises(CorpusError, match="plain: must have labelled records, got none"):
        write_record(run, records["AF"], tmp_path / "p.html", data=tmp_path / "plain")
    assert not (tmp_path / "p.html").exists()


@pytest.mark.realdata
def test_a_record_of_ptbxl_shows_what_the_table_says_of_it(run, realdata, tmp_path):
    root = realdata / "ptbxl"
    header = sorted((root / "records500").rglob("*.hea"))[0]
    (entry,) = [each for each in ptbxl.entries(root) if root / f"{each.file}.hea" == header]
    page = read(write_record(run, header, tmp_path / "p.html"))
    assert f"age{entry.age:g}" in page.text
    assert "sexfemale" in page.text or "sexmale" in page.text
    assert (entry.acquired or "-").replace("T", " ") in page.text
    assert "statements" + "; ".join([" ".join(entry.report.split()), *entry.scp]) in page.text


def test_the_patients_previous_ecg_stands_beside_this_one(run, corpus_folder, records, tmp_path):
    """The one before, of the same source; another source's patient of that name is somebody else."""
    corpus = Corpus.open(corpus_folder)
    size = len(corpus)
    dates = ["2001-01-01T00:00:00", "2002-02-02T00:00:00", *["2030-01-01T00:00:00"] * (size - 2)]
    corpus = with_column(corpus, tmp_path / "corpus", patient=["p"] * size, acquired=dates)
    shown = from_file(records["AF"], corpus.ontology())._replace(patient="p", date="2003-01-01 00:00")
    for source, sections in ((corpus.sources[0], 1), ("elsewhere", 0)):
        this = shown._replace(source=source), Measurements(), Texts("en")
        made = list(_RecordPage(run, MarEcg.from_pretrained(run), corpus.ontology(), *this)._previous(corpus))
        assert len(made) == sections
        assert all("2002-02-02" in str(section.parts[0]) for section in made)


def test_in_ptbxl_s_layout_the_previous_ecg_is_found_and_the_record_is_not_similar_to_itself(run, tmp_path):
    root = tmp_path / "ptbxl"
    folder = root / "records500/00000"
    folder.mkdir(parents=True)
    (root / "scp_statements.csv").write_text(",description,diagnostic\nNORM,normal ECG,1.0\n")
    rows = ["ecg_id,patient_id,age,sex,recording_date,report,scp_codes,strat_fold,filename_hr"]
    for number, patient in ((1, 7), (2, 7), (3, 8)):
        name, date = f"{number:05d}_hr", f"200{number}-02-02 10:00:00"
        signals = {"p_signal": make_ecg(seed=number).T, "fmt": ["16"] * 12, "write_dir": str(folder)}
        wfdb.wrsamp(name, 500, ["mV"] * 12, list(LEADS), **signals)
        rows.append(f"{number},{patient},60,0,{date},,{{'NORM': 100.0}},1,records500/00000/{name}")
    (root / "ptbxl_database.csv").write_text("\n".join(rows) + "\n")
    prepare([root], tmp_path / "corpus", jobs=1)
    page = read(write_record(run, folder / "00002_hr.hea", tmp_path / "p.html", data=tmp_path / "corpus"))
    assert "00001, 2001-02-02 10:00:00" in page.text
    assert "00002 · similarity" not in page.text
    assert "00003 · similarity" in page.text


def test_with_a_classifier_the_page_has_what_reaches_its_threshold(run, records, tmp_path):
    record = ecg_records.read(records["AF"])
    signals = np.stack([record.x_CL, -record.x_CL, record.x_CL * 2, record.x_CL[::-1]])
    classifier = EcgClassifier(run, fs=500, steps=5).fit(signals, np.array([[1, 0]] * 2 + [[0, 1]] * 2))
    classifier.thresholds_ = np.array([0.0, 1.0])
    classifier.classes_ = np.array(["always", "never"])
    classifier.save(tmp_path / "clf")
    page = read(write_record(tmp_path / "clf", records["AF"], tmp_path / "p.html"))
    assert "What the classifier finds" in page.headings
    assert "This classifier wasn't tested" in page.text
    figures = dict.fromkeys(GroupScore.model_fields, 0) | {"group": "", "ppv": None, "chosen_by": 3}
    score = GroupScore(
        **figures | {"name": "always", "records": 20, "positives": 7, "auc": 0.9, "high": 0.95}
    )
    texts = dict.fromkeys(("model", "data", "folds", "leak"), "") | {"task": "tall", "counts": {}}
    judged = Evaluation(**texts, missing=0, seen=0, scores=(score,))
    (tmp_path / "clf" / "evaluation.json").write_text(judged.model_dump_json())
    page = read(write_record(tmp_path / "clf", records["AF"], tmp_path / "p.html"))
    assert (
        "on 20 test records of tall, with 95 % interval and positives: always 90.0 (0.0–95.0, n" in page.text
    )
    assert "so that the sensitivity may differ on other records: always (3)." in page.text
    assert "never" not in page.text.split("What the classifier finds")[-1].split("Technical")[0]
    assert "The classifier finds: always (" in page.text.split("25 mm/s")[0]


def test_page_and_predict_say_the_same_of_a_recording_whose_beginning_says_otherwise(run, tmp_path):
    x_KL = make_ecg(seconds=60)
    x_KL[:, 10 * 500 :] = RNG.normal(0, 0.5, x_KL[:, 10 * 500 :].shape)
    header = make_record(tmp_path, "minute", x_KL)
    signals = np.stack([x_KL[:, :5000], x_KL[:, 5000:10000]] * 2)
    classifier = EcgClassifier(run, fs=500, steps=5).fit(signals, np.array([[1, 0], [0, 1]] * 2))
    classifier.thresholds_ = np.zeros(2)
    classifier.classes_ = np.array(["beats", "noise"])
    classifier.save(tmp_path / "clf")
    page = read(write_record(tmp_path / "clf", header, tmp_path / "p.html"))
    table, _ = predict_table(reader_of(tmp_path / "clf"), Inputs([header]))
    begin, _ = predict_table(
        reader_of(tmp_path / "clf"), Inputs([make_record(tmp_path, "b", x_KL[:, :5000])])
    )
    for name in ("beats", "noise"):
        assert f"{name}{100 * table[name][0]:.1f}0.0" in page.text
        assert f"{100 * table[name][0]:.1f}" != f"{100 * begin[name][0]:.1f}", "the beginning tells less"
    reader = reader_of(run)
    shares, _ = predict_table(reader, Inputs([header]))
    leaves = [node for node in reader.ontology.nodes if not node.root]
    nearest = sorted(leaves, key=lambda leaf: -shares[leaf.abbr][0])[:FINDINGS]
    places = [page.text.index(f"({leaf.abbr})", page.text.index("Technical")) for leaf in nearest]
    assert places == sorted(places)


def test_a_record_that_is_coded_as_paced_has_no_interval_unless_spikes_were_found(run, tmp_path):
    for code, dashes in (("10370003", True), ("426783006", False)):
        header = make_record(tmp_path, code, make_ecg(), comments=(f"Dx: {code}",))
        text = read(write_record(run, header, tmp_path / "p.html")).text
        assert ("coded as paced, but no spike was found" in text) == dashes
        assert ("QRS–" in text) == dashes


def test_what_can_be_told_at_a_risk_stands_before_the_resemblances_in_either_language(run, records, tmp_path):
    model, folder = MarEcg.from_pretrained(run), tmp_path / "sure"
    of = {"Conduction": Calibration(shift=40), "AF": Calibration(shift=40)}
    answers = Answers(weights=weights_sha256(model), records=7, of=of)
    texts = {
        "en": ("At a 10 % risk of error, the encoder reports: ", "a finding of the family"),
        "de": ("Bei einem Fehlerrisiko von 10 % nennt der Encoder: ", "ein Befund der Familie"),
    }
    for language, (before, family) in texts.items():
        model.save_pretrained(folder)  # which drops the answers
        bare = write_record(folder, records["AF"], tmp_path / "bare.html", language=language)
        (folder / ANSWERS).write_text(answers.model_dump_json(), encoding="utf-8")
        told = write_record(folder, records["AF"], tmp_path / "told.html", language=language)
        assert before not in read(bare).text
        text = read(told).text
        assert text.index(before) < text.index("25 mm/s"), "it stands above the sheet"
        said = text.split(before)[1].split(".")[0]
        assert "(AF)" in said
        assert family in said
