"""The component ablation."""

from pathlib import Path

import pytest

from marecg.corpus.prepare import prepare
from marecg.evaluate.ablate import ablate
from marecg.synth import write_corpus

SMALL = ["model.width=16", "model.depth=1", "model.heads=2", "train.batch_size=3", "train.max_steps=2"]


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with enough of three rhythms to probe on."""
    folder = tmp_path_factory.mktemp("probed")
    write_corpus(folder / "wfdb", 100, 3, diagnoses=("SBrad", "STach", "NSR"))
    prepare([folder / "wfdb"], folder / "prepared", jobs=1)
    return folder / "prepared"


def test_an_ablation_averages_over_seeds_and_goes_on_where_it_was(
    corpus_folder: Path, probed: Path, tmp_path: Path
) -> None:
    def run() -> dict[str, tuple[float, float | None, int]]:
        rows = ablate(
            ["tiny-c1", "tiny"],
            corpus_folder,
            tmp_path,
            task="corpus",
            root=probed,
            fractions=(1.0,),
            seeds=2,
            settings=SMALL,
        )
        return {row.method: (row.macro_auc, row.sd, row.runs) for row in rows if row.fraction == 1.0}

    first = run()
    assert {"tiny-c1", "tiny", "random encoder", "hand-crafted"} <= set(first)
    assert all(
        runs == (4 if method in {"random encoder", "hand-crafted"} else 2)
        for method, (_, _, runs) in first.items()
    )
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.ckpt")}
    assert len(before) == 4
    assert run() == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.ckpt")} == before
