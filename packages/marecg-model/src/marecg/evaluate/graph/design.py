"""What an experiment is made of: its records, graphs, regimes, draws and steps."""

from marecg.base.config import Settings, chosen
from marecg.evaluate.graph.arms import EDGELESS, LABELS, NONE, REAL, SHUFFLE


class Design(Settings):
    """Changed by `marecg ablate-graph --set key=value`; docs/graph/plan.md gives the reasons at length."""

    test_source: str = chosen("ptbxl", "its codes test and never teach")
    shuffles: int = chosen(20, "p can't fall below 1 / 21", ge=1)
    sigmas: tuple[float, ...] = chosen((0.25, 0.5, 1.0), "of the soft targets; 1 is the paper's")
    steps: tuple[int, ...] = chosen((100, 200, 400), "of the heads: when all is scored")
    seeds: int = chosen(10, "draws and first weights of heads per base, with all codes", ge=0)
    regime_seeds: int = chosen(5, "the same with few or coarse codes, and with leaves left out", ge=0)
    branch_steps: int = chosen(0, "of the encoder, from each base by each arm; 0 trains heads alone", ge=0)
    branch_sigma: float = chosen(0.5, "where heads have learnt most of what their targets hold", gt=0)
    branch_arms: tuple[str, ...] = chosen(
        (NONE, REAL, EDGELESS, f"{SHUFFLE} 0", LABELS, "flat", f"{SHUFFLE} 1", f"{SHUFFLE} 2"),
        "the most telling first: each is trained on all bases before the next",
    )
