"""Endpoints of the graph experiment, from rows per leaf."""

import pandas as pd

from marecg_research.graph.endpoints import endpoints


def test_single_leaves_are_kept_of_every_arm_so_that_intervals_over_findings_can_be_had():
    head = {"regime": "all", "base": 0, "seed": 0, "step": 100, "sigma": 0.5}
    rows = [
        {**head, "arm": arm, "metric": metric, "of": of, "value": value}
        for arm, plus in (("real", 1.0), ("shuffle 0", 0.0))
        for metric, of, value in (
            ("closed", "", 0.5),
            ("auc", "LBBB", 70.0 + plus),
            ("auc", "AF", 80.0 + plus),
        )
    ]
    leaves = pd.DataFrame(
        {"of": ["LBBB", "AF"], "family": ["Conduction", "Rhythm"], "teaching": [29, 212], "tested": True}
    )
    kept = endpoints(pd.DataFrame(rows), leaves.assign(rare=leaves["teaching"] <= 40))
    values = kept.set_index(["endpoint", "arm"])["value"]
    assert values["leaf AF", "shuffle 0"] == 80.0
    assert values["leaf LBBB", "shuffle 0"] == values["primary", "shuffle 0"] == 70.0
    assert values["leaf LBBB", "real"] == 71.0
