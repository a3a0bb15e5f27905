"""Routing tables: what curators and other SSSOM tools write is read, and what no table may say is found."""

import pytest

import ecg_ontology
from ecg_ontology import Status
from ecg_ontology.base.errors import SourceError
from ecg_ontology.formats.sssom import MAPPING_COLUMNS

LUNG = """@prefix : <https://example.org/lung#> .
@prefix ccg: <https://w3id.org/mar-ecg/ccg#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<https://example.org/lung> a owl:Ontology ; owl:versionInfo "0.1.0" .
:Airway a ccg:Root ; ccg:index 0 ; skos:notation "Airway" ; skos:prefLabel "Airway"@en ;
    ccg:textVariant "a"@en , "b"@en , "c"@en .
:Asthma a ccg:Leaf ; ccg:index 1 ; skos:notation "Asthma" ; skos:prefLabel "Bronchial asthma"@en ;
    skos:altLabel "wheezing disease"@en ; ccg:textVariant "d"@en , "e"@en , "f"@en ; ccg:family :Airway .
:COPD a ccg:Leaf ; ccg:index 2 ; skos:notation "COPD" ; skos:prefLabel "Chronic obstruction"@en ;
    ccg:textVariant "g"@en , "h"@en , "bronchial smoke"@en ; ccg:family :Airway .
"""
HEADER = list(MAPPING_COLUMNS)
ROW = {
    "subject_id": "icd10:J45",
    "subject_label": "Asthma, bronchial",
    "predicate_id": "skos:exactMatch",
    "object_id": "lung:Asthma",
    "object_label": "Bronchial asthma",
    "mapping_justification": "semapv:ManualMappingCuration",
    "other": "regime: single morphology",
}
ROOT = {**ROW, "predicate_id": "skos:broadMatch", "object_id": "lung:Airway", "object_label": "Airway"}
PREFIXES = ["#curie_map:", '#  lung: "https://example.org/lung#"', '#  sct: "http://snomed.info/id/"']


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "lung.ttl").write_text(LUNG, encoding="utf-8")
    return tmp_path


def table(*rows, head=PREFIXES, header=HEADER, end="\n"):
    lines = ["\t".join(row.get(column, "") for column in header) for row in rows]
    return end.join([*head, "\t".join(header), *lines, ""])


@pytest.fixture
def write(folder):
    def write(text, name="routing.sssom.tsv"):
        (folder / name).write_bytes(text.encode())
        return folder

    return write


FAULTS = {
    "Not": ("CCG-E309", {**ROW, "predicate_modifier": "Not"}, "predicate_modifier, got 'Not'"),
    "unknown predicate": ("CCG-E309", {**ROW, "predicate_id": "foo:bar"}, "predicate, got 'foo:bar'"),
    "no predicate": ("CCG-E309", {**ROW, "predicate_id": ""}, "predicate, got ''"),
    "unknown node": (
        "CCG-E302",
        ROW | {"object_id": "lung:Astma", "object_label": ""},
        "must be routed to a concept",
    ),
    "unknown justification": ("CCG-E310", {**ROW, "mapping_justification": "semapv:Guess"}, "'semapv:Guess'"),
    "no justification": ("CCG-E310", {**ROW, "mapping_justification": ""}, "mapping_justification, got ''"),
    "other node's label": (
        *("CCG-E311", ROW | {"object_label": "Chronic obstruction"}),
        "must name the node Asthma 'Bronchial asthma', got 'Chronic obstruction'",
    ),
    "other concept's label": (
        *("CCG-E312", ROW | {"subject_label": "chronic Obstruction"}),
        "is an exactMatch of Asthma, but has the name of COPD",
    ),
    "no common word": ("CCG-W314", {**ROW, "subject_label": "fracture"}, "shares no word with Asthma"),
}
REFUSED = {"CCG-E302", "CCG-E308", "CCG-E309"}


def findings_of(source, rule):
    return [finding for finding in ecg_ontology.validate(source) if finding.id == rule]


@pytest.mark.parametrize("fault", FAULTS)
def test_what_no_row_may_say_is_found_and_routed_by_no_ontology(write, fault):
    rule, row, problem = FAULTS[fault]
    source = write(table(row, ROOT, header=[*HEADER, "predicate_modifier"]))
    [finding] = findings_of(source, rule)
    assert problem in finding.message
    assert finding.where == "routing.sssom.tsv:5"
    if rule in REFUSED:
        with pytest.raises(SourceError, match=rule):
            ecg_ontology.load(source)


NAMES = [("object_label", "asthma"), ("object_label", "Wheezing disease"), ("subject_label", "Wheezing")]


@pytest.mark.parametrize("name", NAMES)
def test_a_row_that_names_its_node_by_any_of_its_names_is_fine(write, name):
    row = ROW | dict([name])
    root = ROOT | {"subject_label": row["subject_label"]}
    assert ecg_ontology.validate(write(table(row, root))) == ()


def test_a_code_of_two_tables_is_found_and_routed_by_no_ontology(write):
    write(table(ROW, ROOT))
    other = {**ROW, "object_id": "lung:COPD", "object_label": "COPD", "predicate_id": "skos:closeMatch"}
    source = write(table(other, ROOT), "routing.extra.sssom.tsv")
    [finding] = findings_of(source, "CCG-E308")
    assert (finding.subject, finding.where) == ("icd10:J45", "routing.extra.sssom.tsv:5")
    with pytest.raises(SourceError, match="CCG-E308"):
        ecg_ontology.load(source)


@pytest.mark.parametrize("profile", ["paper", "curated"])
def test_a_profile_s_table_replaces_rows_and_may_bring_a_code_of_its_own(write, profile):
    write(table(ROW, ROOT))
    code = {"subject_id": "icd10:J44", "subject_label": "COPD"}
    own = ROW | code | {"object_id": "lung:COPD", "object_label": ""}
    replaced = own | {"subject_id": "icd10:J45", "predicate_id": "skos:closeMatch"}
    rows = (replaced, ROOT, own, ROOT | code)
    source = write(table(*rows), f"routing.{profile}.sssom.tsv")
    onto = ecg_ontology.load(source, profile)
    assert onto.route("icd10:J45").leaves == onto.route("icd10:J44").leaves == (2,)
    assert "icd10:J44" in onto.codes


def test_a_routed_leaf_brings_no_other_family_than_its_own(write, folder):
    tissue = (
        ':Tissue a ccg:Root ; ccg:index 3 ; skos:notation "Tissue" ; skos:prefLabel "Tissue"@en ;'
        ' ccg:ring :Airway ; ccg:textVariant "i"@en , "j"@en , "k"@en .\n:Airway ccg:ring :Tissue .\n'
    )
    (folder / "lung.ttl").write_text(LUNG + tissue, encoding="utf-8")
    foreign = ROOT | {"object_id": "lung:Tissue", "object_label": "Tissue"}
    [finding] = findings_of(write(table(ROW, ROOT, foreign)), "CCG-E303")
    assert finding.message == "icd10:J45 must reach the families {Airway} of its leaves, got {Airway, Tissue}"
    assert findings_of(write(table(ROW, ROOT)), "CCG-E303") == []


# --- what other tools write

SPACED = ["# curie_map:", "#   lung: https://example.org/lung#", "#   sct: 'http://snomed.info/id/'"]
SPACED.append("# license: x")
REQUIRED = ["subject_id", "predicate_id", "object_id", "mapping_justification"]
BROKEN = {"subject_label": "Asthma\u2028bronchial\x85"}
TABLES = {
    "own": table(ROW, ROOT),
    "space after #": table(ROW, ROOT, head=SPACED),
    "required columns": table(ROW, ROOT, header=REQUIRED),
    "no metadata": table(ROW, ROOT, header=REQUIRED, head=[]),
    "CRLF": table(ROW, ROOT, end="\r\n"),
    "quoted": table(ROW | {"comment": '"two\nlines, a ""quote"" and a # sign"'}, ROOT),
    "IRI": table(ROW | {"object_id": "https://example.org/lung#Asthma"}, ROOT),
    "U+2028": table(ROW | BROKEN, ROOT | BROKEN),
    "remark": table(ROW, {"subject_id": "# a remark"}, ROOT),
    "blank": table(ROW, ROOT) + "\n\n",
}


@pytest.mark.parametrize("tool", TABLES)
def test_a_table_of_any_sssom_tool_is_routed(write, tool):
    source = write(TABLES[tool])
    assert ecg_ontology.validate(source) == ()
    onto = ecg_ontology.load(source)
    assert onto.route("icd10:J45").nodes == (1, 0)
    assert len(onto.draft.mappings) == 2


@pytest.mark.parametrize("prefix", ["snomedct:", "sct:", "SCTID:", "http://snomed.info/id/", ""])
def test_a_snomed_code_is_one_however_it_is_abbreviated(write, prefix):
    rows = (row | {"subject_id": f"{prefix}195967001"} for row in (ROW, ROOT))
    assert ecg_ontology.load(write(table(*rows))).route("195967001").status is Status.routed


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (table(ROW | {"subject_label": '"Asthma'}), r"routing\.sssom\.tsv:5: cannot be read as a table"),
        (table(ROW | {"subject_label": '"Asthma" x'}), "cannot be read as a table"),
        (table(ROW, header=REQUIRED[:3]), "has no column mapping_justification"),
        (table(ROW, header=[*HEADER, "comment"]), "two columns with the same name"),
        (table(ROW) + "icd10:J46\tx\n", r"routing\.sssom\.tsv:6: the row must have .* cells like the header"),
        (table({**ROW, "object_id": "heart:AF"}), r"routing\.sssom\.tsv:5: .* is missing from the curie_map"),
        (table({**ROW, "other": "regime: whatever"}), "unknown regime 'whatever'"),
        ("", "has no column subject_id"),
        ("#curie_map:\n", "has no column subject_id"),
    ],
)
def test_a_table_that_is_none_is_refused_by_line(write, text, says):
    with pytest.raises(SourceError, match=says) as caught:
        ecg_ontology.load(write(text))
    assert "\n" not in str(caught.value)


def test_a_finding_below_a_cell_of_several_lines_stands_on_its_line(write):
    quoted = ROW | {"comment": '"two\nlines"'}
    source = write(table(quoted, ROOT | {"mapping_justification": "?"}))
    assert [finding.where for finding in findings_of(source, "CCG-E310")] == ["routing.sssom.tsv:7"]
