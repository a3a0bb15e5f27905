"""Routing: the nine printed rows, all official codes, and what becomes of other strings."""

import csv
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecg_ontology
from ecg_base import UsageError
from ecg_ontology import Status
from ecg_ontology.graph.routing import has_check_digit, malformation

PRINTED = {
    "164889003": {"AF", "Rhythm"},
    "164909002": {"LBBB", "Conduction"},
    "426177001": {"SBrad", "Rhythm"},
    "54329005": {"AntMI", "AMI", "Ischemic"},
    "164931005": {"STE", "AntMI", "Ischemic"},
    "233917008": {"2AVB", "3AVB", "Conduction"},
    "698252002": {"Rhythm"},
    "6374002": {"Conduction"},
    "413444003": {"Ischemic"},
}
MENDED = {
    "698252002": {"Conduction"},
    "233917008": {"Conduction"},
    "164931005": {"STE", "Ischemic"},
    "413444003": {"MyIsch", "Ischemic"},
}
DECIDED = {
    "65778007": {"Rhythm"},  # sinoatrial block, as sinus arrest
    "368009": set(),  # heart valve disorder, as heart failure
    "scp:NORM": {"Normal"},
    "scp:VCLVH": {"Structural"},
}
ADDED = {
    "28189009": {"2AVB", "Conduction"},
    "233896004": {"SVT", "Rhythm"},
    "251147008": {"LowV", "Structural"},
    "251148003": {"LowV", "Structural"},
}


def names(onto, code):
    return {onto.nodes[index].abbr for index in onto.route(code).nodes}


@pytest.mark.parametrize(("code", "nodes"), PRINTED.items())
def test_the_profile_paper_routes_a_printed_row_as_printed(onto, code, nodes):
    assert names(onto, code) == nodes


@pytest.mark.parametrize(("code", "nodes"), MENDED.items())
def test_the_profile_curated_routes_the_four_deviating_rows_by_their_official_label(curated, code, nodes):
    assert names(curated, code) == nodes


def test_the_profiles_differ_in_the_four_printed_codes_and_in_those_that_the_curators_decided(onto, curated):
    differing = {code for code in onto.codes if onto.route(code).nodes != curated.route(code).nodes}
    assert differing == set(MENDED) | set(DECIDED)
    assert set(curated.codes) - set(onto.codes) == set(ADDED)


@pytest.mark.parametrize(("code", "nodes"), {**DECIDED, **ADDED}.items())
def test_a_doubted_code_is_decided_in_the_profile_curated_with_its_reason(onto, curated, code, nodes):
    assert names(curated, code) == nodes
    assert curated.route(code).notes
    assert "disputed" in onto.route(code).notes[-1]


def test_the_profile_paper_routes_every_code_as_it_always_did(onto):
    added = {row.code for row in onto.rows if row.table == "disorders"}
    codes = [code for code in onto.codes if code not in added]
    lines = (f"{code} {' '.join(onto.nodes[i].abbr for i in onto.route(code).nodes)}" for code in codes)
    text = "".join(f"{line}\n" for line in sorted(lines))
    assert (len(codes), len(onto.codes)) == (204, 204 + 70)
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert digest == "68808e454a8af22aa1e214aa775bbea0cf865e3181f29e55c67e1fd66a1c7c0a"


@pytest.mark.parametrize(
    ("same", "family"),
    [
        (("251223006", "370365005", "scp:VCLVH"), {"Structural"}),
        (("65778007", "5609005", "60423000"), {"Rhythm"}),
        (("368009", "84114007"), set()),
        (("scp:INJAS", "scp:INJAL", "scp:INJIN", "scp:INJLA", "scp:INJIL"), {"MyIsch", "Ischemic"}),
    ],
    ids=["signs without the diagnosis", "the sinus node", "diseases", "injury"],
)
def test_codes_of_one_sort_are_routed_alike_in_the_profile_curated(curated, same, family):
    assert [names(curated, code) for code in same] == [family] * len(same)


@pytest.mark.parametrize(("code", "leaf"), [("55827005", "LVH"), ("67751000119106", "RAE")])
def test_two_codes_of_high_voltage_mean_what_snomed_ct_calls_them(onto, curated, code, leaf):
    assert names(onto, code) == names(curated, code) == {leaf, "Structural"}
    assert "what other hospitals send under this code" in " ".join(curated.route(code).notes)


def test_an_answer_that_a_deviating_row_touches_says_so_and_no_other_does(onto, curated):
    notes = {code: " ".join(onto.route(code).notes) for code in onto.codes}
    assert {code for code, text in notes.items() if "as the paper prints it" in text} == set(MENDED)
    assert not any("as the paper prints it" in n for code in curated.codes for n in curated.route(code).notes)


def test_an_answer_lists_leaves_before_their_root(onto):
    assert onto.route("54329005").nodes == (25, 19, 3)
    assert onto.route("54329005").leaves == (25, 19)


def test_all_133_official_codes_are_decided_and_labelled_officially(onto, realdata):
    with (realdata / "meta" / "dx_map.csv").open(encoding="utf-8", newline="") as file:
        official = {row["code"]: row["label"] for row in csv.DictReader(file)}
    assert len(official) == 133
    assert {route.code: route.label for route in onto.routes(official)} == onto.official == official
    assert {route.status for route in onto.routes(official)} == {Status.routed, Status.unrouted}


def test_an_unrouted_code_gives_its_reason(onto):
    unrouted = [onto.route(code) for code in onto.codes if onto.route(code).status is Status.unrouted]
    assert {"39732003", "47665007", "251139008"} <= {route.code for route in unrouted}
    assert all(route.notes and not route.nodes for route in unrouted)


def test_a_routed_leaf_brings_exactly_its_own_root(onto, curated):
    family = {edge.source: edge.target for edge in onto.relations if edge.kind == "family"}
    for route in (*onto.routes(onto.codes), *curated.routes(curated.codes)):
        if route.leaves:
            roots = set(route.nodes) - set(route.leaves)
            assert roots == {family[leaf] for leaf in route.leaves}, route.code


def test_no_challenge_code_reaches_inferior_mi_because_none_names_it(onto):
    assert not [code for code in onto.official if onto.node("InfMI").index in onto.route(code).nodes]


def test_all_71_statements_of_ptb_xl_are_decided_in_a_vocabulary_of_their_own(onto, realdata):
    with (realdata / "ptbxl" / "scp_statements.csv").open(encoding="utf-8", newline="") as file:
        statements = {f"scp:{row['']}": row["description"] for row in csv.DictReader(file)}
    assert len(statements) == 71
    assert {code: onto.route(code).label for code in statements} == statements
    assert not set(statements) & set(onto.official)


def test_ami_of_ptb_xl_is_anterior_not_acute(onto):
    assert names(onto, "scp:AMI") == {"AntMI", "Ischemic"}


STATUSES = {
    Status.routed: ("164889003", " 164889003 "),
    Status.unrouted: ("39732003",),
    Status.unknown: ("251238007", "scp:NOPE", "icd10:I48", "900000000000013009", "ICD-10.cm_v2:I48"),
    Status.invalid: (
        *("164889030", "54329014", "123456780112", "1icd:I48", ":I48", "icd10:", "icd10:I 48", "STE", ""),
        *("12345", "0164889003", "-164889003", "1648890031648890031", "١٦٤٨٨٩٠٠٣"),
    ),
}


@pytest.mark.parametrize(("code", "status"), [(code, each) for each in STATUSES for code in STATUSES[each]])
def test_a_code_is_routed_unrouted_unknown_or_invalid(onto, code, status):
    assert onto.route(code).status is status


def test_the_check_digit_catches_every_wrong_digit_and_every_swap_of_neighbours(onto):
    for code in onto.official:
        for place in range(len(code)):
            for digit in "0123456789":
                wrong = code[:place] + digit + code[place + 1 :]
                assert has_check_digit(wrong) == (wrong == code)
            swapped = code[:place] + code[place : place + 2][::-1] + code[place + 2 :]
            assert has_check_digit(swapped) == (swapped == code)


def test_an_unknown_profile_is_refused_with_the_known_ones():
    with pytest.raises(UsageError, match="paper, curated"):
        ecg_ontology.load(profile="printed")


def test_statuses_are_counted(onto):
    counts = onto.status_counts(onto.official)
    assert sum(counts.values()) == 133
    assert counts[Status.unrouted] == 19
    assert counts[Status.unknown] == counts[Status.invalid] == 0


@given(st.text(max_size=24))
def test_any_string_gets_an_answer(onto, text):
    route = onto.route(text)
    assert (route.status is Status.invalid) == bool(malformation(text.strip()))


@pytest.mark.parametrize(
    ("written", "code"), [("icd9cm:42731", "icd9cm:427.31"), ("icd10cm:I4891", "icd10cm:I48.91")]
)
def test_a_code_of_icd_is_known_without_its_point(onto, written, code):
    assert onto.route(code).notes[0].startswith("in no routing table. crosswalk.icd")
    assert onto.route(written) == onto.route(code)
