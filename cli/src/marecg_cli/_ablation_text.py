"""An ablation for the terminal and for machines: what `ablate` and `sweep` print."""

from collections.abc import Sequence
from typing import Any

from marecg.evaluate.ablate import ProbedRun
from marecg.evaluate.leaderboard import NOTE, Standing, averaged, heads_and_lines, standings
from marecg.evaluate.table_print import FORMATS, markdown_table, records
from marecg_cli._output import message, result, result_json
from marecg_cli._probe_text import printed, remarks, rich_table, scores_text


def print_ablation(probed: Sequence[ProbedRun], seeds: int, form: str, wide: bool, resamples: int) -> None:
    """What was measured on stderr, and both tables in the form that was asked for."""
    for each in probed:
        for line in (f"measured: {each.folder}, {each.report.task}", *remarks(each.report)):
            message(line)
    scores, standing = averaged(probed), standings(probed, wide, resamples)
    if form == "json":
        result_json(ablation_json(records(scores), standing))
    elif form == "text":
        over = f", mean ± standard deviation of {seeds} runs" if seeds > 1 else " [95 % interval]"
        head = f"Macro AUC on test{over}, protocol {probed[0].report.protocol}"
        result(scores_text(head, scores, [each.report for each in probed]))
        result(standings_text(standing))
    else:
        result(FORMATS[form](scores, False).rstrip())
        if form == "markdown":
            result(f"{markdown_table(*heads_and_lines(standing))}\n{NOTE}")


def standings_text(standing: Sequence[Standing]) -> str:
    """What each recipe took, and where it differs from the first."""
    return printed([rich_table(*heads_and_lines(standing)), NOTE])


def ablation_json(cells: Sequence[dict[str, Any]], standing: Sequence[Standing]) -> dict[str, Any]:
    """Every figure, and per recipe its cost and its differences to the first."""
    return {
        "cells": cells,
        "recipes": [
            {
                "recipe": one.name,
                "equal": "flops" if one.flops else "records",
                "runs": one.runs,
                "rank": one.rank,
                "records": one.cost and one.cost.records,
                "flops": one.cost and one.cost.flops,
                "seconds": one.cost and one.cost.seconds,
                "versus_first": [
                    {"task": task, "fraction": fraction, **difference.model_dump()}
                    for (task, fraction), difference in one.differences.items()
                ],
            }
            for one in standing
        ],
    }
