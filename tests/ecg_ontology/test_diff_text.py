"""A difference in words: short where little changed, complete where it matters."""

from tests.ecg_ontology.changes import NEW_LEAF

from ecg_ontology import Ontology, compare
from ecg_ontology.diff_text import difference_markdown, difference_text


def test_one_added_leaf_is_a_few_lines_and_all_of_them_on_demand(onto, revise):
    difference = compare(onto, revise("cardiac.ttl", NEW_LEAF))
    short = difference_text(difference).splitlines()
    assert short[0].startswith("1 node is new; 1 edge is new; 0 codes are routed otherwise; 0 with other")
    assert len(short) < 12
    assert f"and {len(difference.codes)} codes are moved by at most" in short[-1]
    complete = difference_text(difference, 0).splitlines()
    assert sum(line.startswith("code ") for line in complete) == len(difference.codes) > 100


def test_a_code_with_other_leaves_is_listed_however_high_the_threshold(onto, curated):
    text = difference_text(compare(onto, curated), threshold=2)
    assert "code 413444003: leaves {} → {MyIsch}, c* none → MyIsch, total variation 1.0000" in text


def test_a_pull_request_sees_each_row_that_came_went_or_changed_and_by_whom(onto):
    rows = list(onto.draft.mappings)
    place = next(n for n, row in enumerate(rows) if row.code == "426177001")
    update = {"predicate": "skos:closeMatch", "reason": "a | b <b>", "author": "Dr A", "date": "2026-01-02"}
    rows[place] = rows[place].model_copy(update=update)
    gone = next(row for row in rows if row.code == "164934002")
    rows.remove(gone)
    new = gone.model_copy(update={"code": "3424008", "author": "Dr B"})
    revised = Ontology(onto.draft.model_copy(update={"mappings": (*rows, new)}), checked=True)
    lines = difference_markdown(onto, revised, compare(onto, revised)).splitlines()
    for change, cells in (
        ("changed", "| skos:exactMatch → skos:closeMatch | SBrad | Dr A 2026-01-02 | a \\| b &lt;b> |"),
        ("added", "| 3424008 |"),
        ("added", "| Dr B |"),
        ("removed", "| 164934002 |"),
    ):
        assert cells in next(line for line in lines if line.startswith(f"| {change} |"))
    assert any(line.startswith("- code 164934002: leaves {NSSTC} → {}") for line in lines)
    assert difference_markdown(onto, onto, compare(onto, onto)).count("|") == 0
