"""Run all steps as a demo: synthesise, prepare, train, probe, report."""

from dataclasses import dataclass
from pathlib import Path

from ecg_synth import write_corpus
from marecg.base.progress import shown
from marecg.corpus.prepare import prepare
from marecg.evaluate.evaluation import evaluate
from marecg.evaluate.request import Request
from marecg.evaluate.scores.results import Report
from marecg.evaluate.tasks.corpus import CORPUS
from marecg.recipes import tiny
from marecg.recipes.overrides import override
from marecg.report.run_page import write_report
from marecg.train.run import train

DIAGNOSES = ("NSR", "AF", "SBrad", "STach", "LBBB", "RBBB", "AntMI", "LVH")
"""Findings of rhythm, conduction, ischaemia and hypertrophy that are clearly visible in the signal."""


@dataclass(frozen=True)
class Demo:
    """Results of the demo.

    Attributes:
        probe: report of the probe.
        run: folder of the run.
        page: the run's page.
    """

    probe: Report
    run: Path
    page: Path


def demo(out: str | Path, records: int = 480, steps: int = 200) -> Demo:
    """Train the recipe `tiny` on a synthetic corpus, and probe it on another corpus of half the size.

    If `out` contains an unfinished demo, the demo is continued.

    Args:
        out: folder for the corpora and the run.
        records: number of records to train on.
        steps: number of training steps.
    """
    out = Path(out)
    corpora = {"train": (records, 0), "probe": (records // 2, 1)}
    for name, (count, seed) in corpora.items():
        if not (out / name / "corpus.json").exists():
            write_corpus(out / f"{name}-wfdb", count, seed, diagnoses=DIAGNOSES, progress=shown)
            prepare([out / f"{name}-wfdb"], out / name)
    run = out / "run"
    config = override(tiny(), [f"train.max_steps={steps}"])
    train(config, out / "train", run)
    request = Request(fractions=(1.0,), seeds=1)
    report = evaluate(run, request.open(CORPUS, out / "probe"), request)
    return Demo(report, run, write_report(run, out / "train"))
