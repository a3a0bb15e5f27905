"""An ablation for the terminal and for machines, beside the table that a probe prints."""

import io
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from marecg.evaluate.leaderboard import Standing
from marecg.evaluate.leaderboard_print import NOTE, heads_and_lines
from marecg.evaluate.table import Row

WIDTH = 100


def standings_text(standing: Sequence[Standing]) -> str:
    """What each recipe took, and where it differs from the first."""
    heads, lines = heads_and_lines(standing)
    table = Table()
    table.add_column(heads[0], no_wrap=True)
    for head in heads[1:]:
        table.add_column(head, justify="right")
    for line in lines:
        table.add_row(*line)
    console = Console(file=io.StringIO(), width=WIDTH, record=True)
    console.print(table, NOTE, sep="\n", highlight=False, markup=False)
    return "\n".join(line.rstrip() for line in console.export_text().splitlines())


def ablation_json(rows: Sequence[Row], standing: Sequence[Standing]) -> dict[str, Any]:
    """Every number: the table's cells, and per recipe its cost and its differences to the first."""
    return {
        "cells": [
            {
                "recipe": row.group or None,
                "method": row.method,
                "task": task,
                "fraction": fraction,
                "macro_auc": value.mean / 100,
                "sd": None if value.sd is None else value.sd / 100,
                "leaked_records": value.leaked,
                "collapsed": row.collapsed,
            }
            for row in rows
            for (task, fraction), value in row.values.items()
        ],
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
