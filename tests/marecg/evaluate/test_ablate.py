"""The component ablation."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from marecg.corpus.prepare import prepare
from marecg.errors import UsageError
from marecg.evaluate.ablate import ablate, averaged
from marecg.evaluate.scores.results import Leak, Report
from marecg.evaluate.scores.summary import ENCODER
from marecg.evaluate.table import Row
from marecg.synth import write_corpus

SMALL = ["model.width=16", "model.depth=1", "model.heads=2", "train.batch_size=3", "train.max_steps=2"]


class Steps:
    """Which run was told of how many steps; interrupts at the first step of one."""

    def __init__(self, interrupted: str = "") -> None:
        self.told: dict[str, int] = {}
        self.interrupted = interrupted

    @contextmanager
    def __call__(self, what: str) -> Iterator[Callable[[int, int, str], None]]:
        self.told[what] = 0

        def tell(step: int, steps: int, note: str) -> None:
            if what == self.interrupted:
                raise RuntimeError("interrupted")
            self.told[what] += 1

        yield tell


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with enough of three rhythms to probe on."""
    folder = tmp_path_factory.mktemp("probed")
    write_corpus(folder / "wfdb", 100, 3, diagnoses=("SBrad", "STach", "NSR"))
    prepare([folder / "wfdb"], folder / "prepared", jobs=1)
    return folder / "prepared"


def test_an_ablation_goes_on_where_it_was_averages_over_seeds_and_keeps_the_daggers(
    corpus_folder: Path, probed: Path, tmp_path: Path
) -> None:
    def run(watch: Steps) -> list[tuple[str, Path, Report]]:
        return ablate(
            ["tiny-c1", "tiny"],
            corpus_folder,
            tmp_path,
            task="corpus",
            root=probed,
            fractions=(1.0,),
            seeds=2,
            settings=SMALL,
            watch=watch,
        )

    with pytest.raises(RuntimeError, match="interrupted"):
        run(Steps("tiny, seed 0: steps"))
    gone_on = Steps()
    found = run(gone_on)
    assert gone_on.told == {
        "tiny-c1, seed 0: steps": 0,
        "tiny-c1, seed 1: steps": 0,
        "tiny, seed 0: steps": 2,
        "tiny, seed 1: steps": 2,
    }
    assert [(name, folder.name) for name, folder, _ in found] == [
        (name, f"{name}-seed{seed}") for name in ("tiny-c1", "tiny") for seed in (0, 1)
    ]

    rows = averaged(found)
    own = {row.group: row.values["corpus", 1.0] for row in rows if row.method == ENCODER}
    assert own.keys() == {"tiny-c1", "tiny"}
    for recipe, value in own.items():
        one, other = (_mean_of(report) for name, _, report in found if name == recipe)
        assert value.mean == pytest.approx((one + other) / 2)
        assert value.sd == pytest.approx(abs(one - other) / 2**0.5)
    assert [row.group for row in rows if row.method == "hand-crafted"] == [""]

    leak = Leak(records=1, same_record=("a",), same_patient=(), same_signal=())
    name, folder, report = found[1]
    marked = averaged([found[0], (name, folder, report.model_copy(update={"leak": leak})), *found[2:]])
    assert _daggers(marked) >= {("tiny-c1", ENCODER)}
    assert all(group == "tiny-c1" for group, _ in _daggers(marked) - _daggers(rows))
    assert ("tiny", ENCODER) not in _daggers(marked)


def test_a_recipe_that_is_named_twice_is_refused(corpus_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="tiny is named twice"):
        ablate(["tiny", "tiny"], corpus_folder, tmp_path, task="corpus", root=corpus_folder)


def _mean_of(report: Report) -> float:
    return next(100 * cell.macro_auc.mean for cell in report.cells if cell.method == ENCODER)


def _daggers(rows: list[Row]) -> set[tuple[str, str]]:
    return {(row.group, row.method) for row in rows if any(value.leaked for value in row.values.values())}
