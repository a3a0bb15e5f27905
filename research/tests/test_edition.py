"""The heads of the second edition, its stems, and its report, which has the tables."""

from pathlib import Path

import numpy as np
import pytest
import torch
from research.edition import tables
from research.edition.dense_targets import values
from research.edition.heads import codes_loss
from research.edition.stem import STEMS, StemTokens

import ecg_ontology
from ecg_synth import LEADS, Noise, record

CARDIAC = ecg_ontology.load()
NUMBER = {node.abbr: node.index for node in CARDIAC.nodes}
FAMILY_N = torch.tensor(CARDIAC.families)


def loss_of(wrong: str, leaves: tuple[str, ...], roots: tuple[str, ...]) -> float:
    """Return the loss of a record whose logits are right but for one concept."""
    y_BN, root_BN = torch.zeros(2, 1, len(NUMBER), dtype=torch.bool)
    y_BN[0, [NUMBER[leaf] for leaf in leaves]] = True
    root_BN[0, [NUMBER[root] for root in roots]] = True
    logits_BN = torch.where(y_BN | root_BN, 30.0, -30.0)
    logits_BN[0, NUMBER[wrong]] *= -1
    return float(codes_loss(logits_BN, y_BN, root_BN, FAMILY_N))


def root_of(leaf: str) -> str:
    return CARDIAC.nodes[CARDIAC.families[NUMBER[leaf]]].abbr


def test_a_leaf_is_unknown_where_only_its_family_is_coded():
    family = root_of("LBBB")
    assert loss_of("LBBB", (), (family,)) == pytest.approx(0)
    assert loss_of(family, (), (family,)) == pytest.approx(30)
    assert loss_of("AF", (), (family,)) == pytest.approx(30)  # of another family
    assert loss_of("LBBB", ("RBBB",), (family,)) == pytest.approx(30)  # another leaf of the family is coded


def test_a_record_without_codes_teaches_nothing():
    assert loss_of("LBBB", (), ()) == pytest.approx(0)


def heights(*findings: str) -> np.ndarray:
    """Return the heights of a clean record, [4, 12]: largest and smallest of QRS, ST level and T."""
    made = record(*findings, rng=np.random.default_rng(3), noise=Noise().times(0))
    return values(made)[3:].reshape(4, 12)


def test_dense_targets_show_what_a_finding_changes():
    normal, blocked = (
        values(record(*findings, rng=np.random.default_rng(3), noise=Noise().times(0)))
        for findings in (("NSR",), ("LBBB", "NSR"))
    )
    assert normal[1] < 0.12 <= blocked[1]  # QRS in s
    v4 = LEADS.index("V4")
    assert heights("STD")[2, v4] < heights("NSR")[2, v4] - 0.1
    assert heights("TWI")[3, v4] < 0 < heights("NSR")[3, v4]
    fibrillating = values(record("AF", rng=np.random.default_rng(3), noise=Noise().times(0)))
    assert np.isnan(fibrillating[0])
    assert np.isfinite(fibrillating[1:]).all()


@pytest.mark.parametrize("name", STEMS)
def test_a_stem_sees_beyond_the_patch_but_nothing_of_hidden_patches(name):
    torch.manual_seed(0)
    tokens = StemTokens(12, 8, 100, 32, stem=STEMS[name]).requires_grad_(False)
    x_BTCP = torch.randn(1, 8, 12, 100)
    changed_BTCP = x_BTCP.clone()
    changed_BTCP[0, 3, 2] += 1
    differ_TC = (tokens(x_BTCP) - tokens(changed_BTCP)).abs().sum(-1)[0] > 0
    assert differ_TC[2:5, 2].all()
    assert not differ_TC[:, [0, 1, *range(3, 12)]].any()
    hidden_BTC = torch.zeros(1, 8, 12, dtype=torch.bool)
    hidden_BTC[0, 3, 2] = True
    torch.testing.assert_close(tokens(x_BTCP, hidden_BTC), tokens(changed_BTCP, hidden_BTC), rtol=0, atol=0)


@pytest.mark.slow
def test_the_report_has_the_tables_that_the_scores_give():
    report = (Path(tables.__file__).parent / "report.md").read_text(encoding="utf-8")
    assert all(table in report for table in tables.tables()), "python -m research.edition.tables"
