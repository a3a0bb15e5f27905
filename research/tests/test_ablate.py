"""The component ablation."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import ecg_ontology
from ecg_synth import write_corpus
from marecg.base.progress import Progress, Tell
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.errors import ConfigError, UsageError
from marecg.evaluate import table_print
from marecg.evaluate.request import Request
from marecg.evaluate.scores.results import Leak, Report
from marecg.evaluate.scores.summary import ENCODER
from marecg.evaluate.table import measured
from marecg.evaluate.tasks.corpus import CORPUS
from marecg.model.card import Provenance
from marecg.nn.collapse import COLLAPSED
from marecg.recipes import by_name, tiny
from marecg.recipes.overrides import override
from marecg_research import perturb
from marecg_research.__main__ import app
from marecg_research.ablate import ProbedRun, ablate, cost_of, earlier_report, equalled, records_of, varied
from marecg_research.leaderboard import averaged, heads_and_lines, standings

SMALL = ["model.width=16", "model.depth=1", "model.heads=2", "train.batch_size=3", "train.max_steps=2"]
SMALL += ["train.global_batch_size=3"]
REQUEST = Request((1.0,), resamples=50, without=("encoder, wide",))


def counting(steps: dict[str, int], interrupted: str = "") -> Progress:
    """A progress that counts the steps of each run, and interrupts at the first step of one."""

    @contextmanager
    def progress(what: str) -> Iterator[Tell]:
        def tell(done: int, total: int | None, note: str = "") -> None:
            if what == interrupted:
                raise RuntimeError("interrupted")
            if what in steps:
                steps[what] += 1

        if what.endswith(": steps"):
            steps[what] = 0
        yield tell

    return progress


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with enough of three rhythms to probe on."""
    folder = tmp_path_factory.mktemp("probed")
    write_corpus(folder / "wfdb", 100, 3, diagnoses=("SBrad", "STach", "NSR"))
    prepare([folder / "wfdb"], folder / "prepared", jobs=1)
    return folder / "prepared"


@pytest.mark.slow
def test_an_ablation_goes_on_averages_over_seeds_and_keeps_the_daggers(corpus_folder, probed, tmp_path):
    def run(progress: Progress) -> list[ProbedRun]:
        how = {"tasks": {CORPUS: probed}, "request": REQUEST, "seeds": 2, "settings": SMALL}
        return ablate(["tiny-c1", "tiny"], corpus_folder, tmp_path, **how, progress=progress)

    with pytest.raises(RuntimeError, match="interrupted"):
        run(counting({}, "tiny, seed 0: steps"))
    steps: dict[str, int] = {}
    runs = run(counting(steps))
    each = [("tiny-c1", 0, 0), ("tiny-c1", 1, 0), ("tiny", 0, 2), ("tiny", 1, 2)]
    assert steps == {f"{arm}, seed {seed}: steps": count for arm, seed, count in each}
    folders = [(arm, f"{arm}-seed{seed}") for arm, seed, _ in each]
    assert [(run.arm, run.folder.name) for run in runs] == folders

    times = [(run.folder / "probe" / "corpus-strict.json").stat().st_mtime_ns for run in runs]
    rotations = REQUEST.open(CORPUS, probed)
    assert earlier_report(runs[0].folder, rotations, REQUEST) == runs[0].report
    assert earlier_report(runs[0].folder, rotations, replace(REQUEST, resamples=51)) is None
    assert run(counting({})) == runs
    assert times == [(run.folder / "probe" / "corpus-strict.json").stat().st_mtime_ns for run in runs]

    rows = averaged(runs)
    own = rows[rows["method"] == ENCODER].set_index("group")
    assert set(own.index) == {"tiny-c1", "tiny"}
    for recipe, value in own.iterrows():
        one, other = (_mean_of(run.report) for run in runs if run.arm == recipe)
        assert value["macro_auc"] == pytest.approx((one + other) / 2)
        assert value["sd"] == pytest.approx(abs(one - other) / 2**0.5)
    assert rows["group"][rows["method"] == "hand-crafted"].tolist() == [""]

    leak = Leak(records=1, same_record=("a",), same_patient=(), same_signal=())
    first, second, *rest = runs
    leaked = second._replace(report=second.report.model_copy(update={"leak": leak}))
    marked = averaged([first, leaked, *rest])
    assert _daggers(marked) >= {("tiny-c1", ENCODER)}
    assert all(group == "tiny-c1" for group, _ in _daggers(marked) - _daggers(rows))
    assert ("tiny", ENCODER) not in _daggers(marked)


@pytest.mark.parametrize(
    ("recipes", "request_", "problem"),
    [
        (["tiny", "tiny"], REQUEST, "got tiny twice"),
        (["tiny", "tiny-c1"], replace(REQUEST, readout="concepts"), "tiny-c1 trains without it"),
    ],
)
def test_recipes_that_cannot_stand_side_by_side_are_refused_before_anything_is_trained(
    corpus_folder, tmp_path, recipes, request_, problem
):
    with pytest.raises(UsageError, match=problem):
        ablate(recipes, corpus_folder, tmp_path / "runs", tasks={CORPUS: corpus_folder}, request=request_)
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_another_graph_reads_the_same_codes_and_a_dear_recipe_sees_less(corpus_folder, probed, tmp_path):
    perturb.shuffled(ecg_ontology.load(), 0).save(tmp_path / "shuffled.json")
    recipes = ["tiny", f"tiny@{tmp_path / 'shuffled.json'}", "tiny-c2"]
    how = {"tasks": {"corpus": probed}, "request": REQUEST, "settings": SMALL, "records": 12}
    runs = ablate(recipes, corpus_folder, tmp_path / "out", **how, equal=("records", "flops"))
    names = ["tiny", "tiny@shuffled", "tiny-c2", "tiny-c2, equal FLOPs"]
    assert [run.arm for run in runs] == names
    assert [run.folder.name for run in runs][1::2] == ["tiny@shuffled-seed0", "tiny-c2-flops-seed0"]
    other = Corpus.open(tmp_path / "out" / "corpora" / "shuffled")
    corpus = Corpus.open(corpus_folder)
    assert (other.y == corpus.y).all()
    assert (other.ontology().distances != corpus.ontology().distances).any()
    assert (other.folder / "shards" / "00000.npy").samefile(corpus_folder / "shards" / "00000.npy")
    sha256 = [run.report.ontology_sha256 for run in runs]
    assert sha256[0] == sha256[2] == corpus.ontology_sha256
    assert sha256[1] == other.ontology_sha256 != corpus.ontology_sha256

    standing = standings(runs, resamples=50)
    arms = [(name.split(",")[0], "FLOPs" in name) for name in names]
    assert [(one["recipe"], one["equal"] == "flops") for one in standing] == arms
    assert [one["records"] for one in standing] == [12, 12, 12, 6]
    assert standing[2]["flops"] == pytest.approx(2 * standing[3]["flops"])
    assert standing[3]["flops"] <= standing[0]["flops"] * 1.2
    assert not standing[0]["versus_first"]
    (difference,) = standing[2]["versus_first"]
    assert (difference["task"], difference["fraction"]) == ("corpus", 1.0)
    assert 100 * difference["mean"] == pytest.approx(standing[2]["means"][1.0] - standing[0]["means"][1.0])
    heads, lines = heads_and_lines(standing)
    shares = ["100%, equal records", "100%, equal FLOPs"]
    assert heads[:5] == ["recipe", "runs", *shares, "above / below the first"]
    assert len(lines) == 3


@pytest.mark.slow
def test_a_collapsed_run_is_named_in_the_table(corpus_folder, probed, tmp_path):
    how = {"tasks": {CORPUS: probed}, "request": REQUEST, "settings": SMALL}
    [run] = ablate(["tiny"], corpus_folder, tmp_path, **how)
    assert run.report.rank is not None
    assert run.report.rank > COLLAPSED
    collapsed = [run._replace(report=run.report.model_copy(update={"rank": 1.4}))]
    assert "tiny: encoder (collapsed)" in table_print.markdown(averaged(collapsed))
    assert "below 2" in table_print.markdown(averaged(collapsed))
    assert heads_and_lines(standings(collapsed, resamples=20))[1][0][0] == "tiny (collapsed)"
    assert "collapsed" not in table_print.markdown(averaged([run]))


def test_equal_means_the_same_records_or_the_same_arithmetic():
    c1, c2 = (override(by_name(name), ["train.batch_size=16"]) for name in ("tiny-c1", "tiny-c2"))
    assert records_of(override(c1, ["train.max_steps=10"]), 1000) == 160
    assert records_of(c1, 1000) == 100_000
    assert records_of(override(c1, ["train.max_steps=10", "train.accumulate=4"]), 1000) == 640
    assert equalled(c2, c1, "records", 4800, 1000).train.max_steps == 300
    spent = (equalled(c2, c1, "flops", 4800, 1000).train.max_steps or 0) * c2.step_flops()
    assert spent == pytest.approx(300 * c1.step_flops(), rel=0.01)
    assert equalled(c1, c1, "records", 200_000, 1000).train.max_epochs == 200
    assert equalled(c1, c1, "records", 200_016, 1000).train.max_epochs == 201, "the last one not whole"
    assert equalled(c1, c1, "records", 7, 1000).train.max_steps == 1


def test_a_cost_counts_the_records_of_all_devices_and_micro_batches(tmp_path):
    config = override(by_name("tiny"), ["train.batch_size=16", "train.accumulate=2"])
    taken = Provenance(recipe="tiny", steps=10, records=100, sources={}, seconds=3.0, devices="4 × cuda")
    (tmp_path / "model").mkdir()
    (tmp_path / "config.json").write_text(f'{{"config": {config.model_dump_json()}}}')
    (tmp_path / "model" / "config.json").write_text(f'{{"provenance": {taken.model_dump_json()}}}')
    cost = {"records": 10 * 16 * 2 * 4, "flops": 1280 * config.step_flops(), "seconds": 3.0}
    assert cost_of(tmp_path) == cost


def test_every_combination_is_a_recipe_called_after_its_values():
    settings = ["gscl.sigma=0.5,1", "gscl.rule=max-index,most-specific", "train.betas=[0.9,0.95]"]
    made = varied(tiny(), settings)
    assert [config.name for config in made] == [
        f"tiny gscl.sigma={sigma} gscl.rule={rule} train.betas=[0.9, 0.95]"
        for sigma in ("0.5", "1")
        for rule in ("max-index", "most-specific")
    ]
    assert [config.gscl and config.gscl.sigma for config in made] == [0.5, 0.5, 1, 1]
    assert made[0].train.betas == (0.9, 0.95)
    assert [config.jepa is None for config in varied(tiny(), ["jepa=null,{}"])] == [True, False]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("gscl.sigma", "must have values, got none"),
        ("gscl.sigma=", "must have values, got none"),
        ("gscl.sigma=0.1..2", "must be a number"),
        ("gscl.sigma=no,1", "must be a number"),
        ("gscl.sigam=1,2", "Did you mean gscl.sigma"),
    ],
)
def test_a_value_that_cannot_be_varied_so_is_one_error(text, problem):
    with pytest.raises(ConfigError, match=problem) as refused:
        varied(tiny(), [text])
    assert f"--vary {text}" in str(refused.value)


@pytest.mark.slow
def test_the_command_prints_a_row_per_combination(probed, tmp_path):
    sizes = [word for each in SMALL for word in ("--set", each)]
    given = ["--data", probed, "--root", probed, "--task", "corpus", "--format", "json", *sizes]
    words = ["ablate", *map(str, given), "--vary", "gscl.sigma=0.5,2", "--out", str(tmp_path / "grid")]
    rows = json.loads(CliRunner().invoke(app, words, catch_exceptions=False).stdout)["cells"]
    assert {row["group"] for row in rows} >= {"tiny gscl.sigma=0.5", "tiny gscl.sigma=2"}
    folder = tmp_path / "grid" / "tiny_gscl.sigma=2-seed0"
    assert (folder / "probe" / "corpus-strict.json").exists()
    scores = measured([folder], protocol="strict")
    assert "tiny_gscl.sigma=2-seed0" in set(scores["group"])


def _mean_of(report: Report) -> float:
    return next(100 * cell.macro_auc.mean for cell in report.cells if cell.method == ENCODER)


def _daggers(scores: pd.DataFrame) -> set[tuple[str, str]]:
    leaked = scores[scores["leaked_records"].fillna(0) > 0]
    return set(zip(leaked["group"], leaked["method"], strict=True))
