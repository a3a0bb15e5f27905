"""Routing against a release that the test makes itself, laid out as RF2."""

import shutil
import tracemalloc

import pytest
from tests.ecg_ontology.changes import with_rows

from ecg_base import InputError
from ecg_ontology import Ontology
from ecg_ontology.validation.release import read_release
from ecg_ontology.validation.snomed import review_release

BEGIN = "id\teffectiveTime\tactive\tmoduleId\t"
CONCEPT = f"{BEGIN}definitionStatusId\n"
DESCRIPTION = f"{BEGIN}conceptId\tlanguageCode\ttypeId\tterm\tcaseSignificanceId\n"
KINDS = "typeId\tcharacteristicTypeId\tmodifierId"
RELATIONSHIP = f"{BEGIN}sourceId\tdestinationId\trelationshipGroup\t{KINDS}\n"
IS_A = "116680003"


def concept_rows(labels, inactive=()):
    return CONCEPT + "".join(f"{code}\t20240101\t{int(code not in inactive)}\t0\t0\n" for code in labels)


def description_rows(labels):
    """Rows of each code's first term, then of the further ones, as a release lists synonyms."""
    first = [(code, terms[0]) for code, terms in labels.items()]
    further = [(code, term) for code, terms in labels.items() for term in terms[1:]]
    terms = enumerate(first + further)
    rows = (f"{n}\t20240101\t1\t0\t{code}\ten\t0\t{term}\t0\n" for n, (code, term) in terms)
    return DESCRIPTION + "".join(rows)


def relationship_rows(pairs, kind=IS_A):
    rows = (f"{n}\t20240101\t1\t0\t{a}\t{b}\t0\t{kind}\t0\t0\n" for n, (a, b) in enumerate(pairs, start=1))
    return RELATIONSHIP + "".join(rows)


@pytest.fixture
def labels(curated):
    """Terms for every routed code: its own label, as a release would word it.

    Where the curators overrode a label, the name of the concept that they chose comes first.
    """
    routes = [curated.route(code) for code in curated.codes if code.isdecimal()]
    chosen = {row.code: curated.draft.by_iri[row.node].label for row in curated.rows if row.override}
    return {
        route.code: (
            *([f"{chosen[route.code]} (disorder)"] if route.code in chosen else []),
            f"ECG: {route.label} (finding)",
        )
        for route in routes
        if route.nodes
    }


@pytest.fixture
def release(tmp_path):
    """Write a release of three RF2 files and return its folder."""

    def write(concepts, descriptions, relationships=RELATIONSHIP, state="Snapshot"):
        folder = tmp_path / "SnomedCT_Test" / state / "Terminology"
        folder.mkdir(parents=True)
        kinds = {f"Concept_{state}": concepts, f"Relationship_{state}": relationships}
        for kind, text in {**kinds, f"Description_{state}-en": descriptions}.items():
            (folder / f"sct2_{kind}_INT_20240101.txt").write_text(text, encoding="utf-8")
        return tmp_path / "SnomedCT_Test"

    return write


@pytest.fixture
def review(curated, labels, release):
    """What is said of the curated routing beside a release that agrees with it but for these parts."""

    def run(concepts=None, descriptions=None, **others):
        files = (concepts or concept_rows(labels), descriptions or description_rows(labels))
        return review_release(curated, release(*files, **others))

    return run


def without_af(labels):
    return {code: term for code, term in labels.items() if code != "164889003"}


def ids(findings):
    return {(finding.id, finding.subject) for finding in findings}


def test_a_release_that_says_the_same_gives_no_finding(review):
    assert review() == ()


def test_a_missing_an_inactive_and_a_foreign_code_are_told_apart(labels, review):
    there = without_af(labels)
    concepts = concept_rows(there, inactive={"164890007"})
    descriptions = description_rows({**there, "270492004": ["Fracture of femur (disorder)"]})
    missing, inactive = ("CCG-E401", "164889003"), ("CCG-W402", "164890007")
    assert ids(review(concepts, descriptions)) == {missing, inactive, ("CCG-W403", "270492004")}


def test_a_code_under_another_leaf_s_code_is_found_over_several_steps(review):
    pairs = [("164896001", "99999999"), ("99999999", "164895002"), ("54329005", "57054005")]
    [finding] = review(relationships=relationship_rows(pairs))
    # Fibrillation under tachycardia; anterior under acute MI is fine.
    assert (finding.id, finding.subject, "VT" in finding.message) == ("CCG-W404", "164896001", True)


def test_relations_of_other_types_do_not_count(review):
    pairs = [("164896001", "164895002")]
    assert review(relationships=relationship_rows(pairs, kind="363698007")) == ()


def test_a_full_release_alone_is_refused(review):
    with pytest.raises(InputError, match="without sct2_Concept_Snapshot"):
        review(state="Full")


def test_a_relationship_that_no_longer_holds_does_not_count(review):
    gone = "1\t20250101\t0\t0\t164896001\t164895002\t0\t116680003\t0\t0\n"
    assert review(relationships=RELATIONSHIP + gone) == ()


def test_a_term_that_is_no_longer_used_is_none(labels, review):
    """Atrial fibrillation's own term was retired for one of another finding."""
    number = list(labels).index("164889003")
    rows = description_rows(labels).replace(f"\n{number}\t20240101\t1\t", f"\n{number}\t20240101\t0\t")
    other = "999\t20240101\t1\t0\t164889003\ten\t0\tFracture of femur (disorder)\t0\n"
    assert ids(review(descriptions=rows + other)) == {("CCG-W403", "164889003")}


def test_a_zip_reads_as_the_folder_does(curated, labels, release, tmp_path):
    there = without_af(labels)
    folder = release(concept_rows(there), description_rows(there))
    archive = shutil.make_archive(str(tmp_path / "release"), "zip", folder)
    assert review_release(curated, archive) == review_release(curated, folder)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        *(("noise.txt", text, "cannot be unpacked") for text in (b"", b"a\tb\n1\t2\n", b"Concept ID\n1\n")),
        ("empty.zip", b"PK\5\6" + bytes(18), "isn't an RF2 release"),
        (".", None, "isn't an RF2 release"),
        ("nowhere", None, "doesn't exist"),
    ],
)
def test_what_is_no_release_or_not_there_is_refused(curated, tmp_path, name, content, problem):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=problem):
        review_release(curated, tmp_path / name)


def test_a_long_relationship_file_is_read_in_bounded_memory(release):
    n = 20_000
    chain = relationship_rows([(1_000_000 + i, 1_000_001 + i) for i in range(n)])
    path = release(concept_rows({"164889003": ""}), description_rows({"164889003": "x"}), chain)
    tracemalloc.start()
    release = read_release(path, ["164889003"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert release.parents == {}
    assert peak < 200 * n  # bytes: five integers a row, and what sorting them needs; no row's text


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("1\t20240101\t1\t0\tabc\t164895002\t0\t116680003\t0\t0\n", "must be a number, got 'abc'"),
        ("1\t20240101\t1\t0\t-5\t164895002\t0\t116680003\t0\t0\n", "must be a number, got '-5'"),
        ("1\t20240101\t1\t0\t5\t\t0\t116680003\t0\t0\n", "must be a number, got ''"),
    ],
)
def test_a_relationship_of_other_than_numbers_is_refused_in_one_line(review, row, says):
    with pytest.raises(InputError, match=says) as caught:
        review(relationships=RELATIONSHIP + row)
    assert "\n" not in str(caught.value)


def test_a_release_without_a_column_is_refused(labels, review):
    with pytest.raises(InputError, match="has no column conceptId"):
        review(descriptions=description_rows(labels).replace("conceptId", "concept"))


def test_a_subtype_reaches_what_its_leaf_is_a_subtype_of(curated, labels, release):
    # Anterior MI is a subtype of acute MI in the graph: a code routed to it alone reaches acute MI as well.
    row = next(row for row in curated.draft.mappings if row.code == "54329005")
    nodes = (curated.node(abbr).iri for abbr in ("AntMI", "Ischemic"))
    mine = [row.model_copy(update={"code": "52035003", "node": node}) for node in nodes]
    onto = Ontology(with_rows(curated.draft, *mine), "curated")
    there = {**labels, "52035003": labels["54329005"]}
    pairs = relationship_rows([("52035003", "57054005")])
    assert onto.route("57054005").leaves == (onto.node("AMI").index,)
    assert review_release(onto, release(concept_rows(there), description_rows(there), pairs)) == ()


def test_an_inactive_code_is_named_with_what_the_release_puts_in_its_place(curated, labels, release):
    path = release(concept_rows(labels, inactive={"164890007"}), description_rows(labels))
    refset = path / "Snapshot" / "Refset" / "Content"
    refset.mkdir(parents=True)
    head = f"{BEGIN}refsetId\treferencedComponentId\ttargetComponentId\n"
    rows = [
        "a\t20240101\t1\t0\t900000000000526001\t164890007\t5370000\n",
        "b\t20240101\t0\t0\t900000000000526001\t164890007\t11111116\n",  # withdrawn
        "c\t20240101\t1\t0\t900000000000489007\t164890007\t22222226\n",  # no association of this kind
    ]
    file = refset / "der2_cRefset_AssociationSnapshot_INT_20240101.txt"
    file.write_text(head + "".join(rows), encoding="utf-8")
    [finding] = review_release(curated, path)
    assert (finding.id, finding.subject) == ("CCG-W402", "164890007")
    assert finding.message.endswith("is inactive in the release: replaced by 5370000")


def test_a_release_without_relationships_is_read(curated, labels, release):
    path = release(concept_rows(labels), description_rows(labels))
    next(path.rglob("sct2_Relationship_*")).unlink()
    assert review_release(curated, path) == ()


ASSOCIATION = f"{BEGIN}refsetId\treferencedComponentId\ttargetComponentId\n"


@pytest.mark.parametrize(
    ("refset", "how"),
    [
        ("1186924009", "partially equivalent to"),
        ("900000000000528000", "was a"),
        ("900000000000524003", "moved to"),
        ("900000000000529008", "similar to"),
    ],
)
def test_every_kind_of_association_names_a_successor(tmp_path, refset, how):
    write_release(
        tmp_path, "20240731", active=0, association=f"a\t20240731\t1\t0\t{refset}\t164889003\t49436004\n"
    )
    assert read_release(tmp_path, ["164889003"]).replacements == {"164889003": [f"{how} 49436004"]}


@pytest.mark.parametrize("folders", [("A", "B"), ("B", "A")])
def test_of_two_releases_in_a_folder_the_newest_row_counts(tmp_path, folders):
    old, new = (tmp_path / name for name in folders)
    write_release(old, "20210731", active=1, term="old name", parent="5370000")
    write_release(new, "20240731", active=0, term="new name", parent="5370000", related=0)
    release = read_release(tmp_path, ["164889003"])
    assert release.active == {"164889003": False}
    assert release.terms == {"164889003": {"new name"}}
    assert release.ancestors("164889003") == set()


def test_the_snapshot_of_a_monolith_edition_is_read(tmp_path):
    association = "a\t20240731\t1\t0\t900000000000526001\t164889003\t49436004\n"
    write_release(
        tmp_path, "20240731", active=0, parent="5370000", association=association, state="MONOSnapshot"
    )
    release = read_release(tmp_path, ["164889003"])
    assert release.active == {"164889003": False}
    assert release.ancestors("164889003") == {"5370000"}
    assert release.replacements == {"164889003": ["replaced by 49436004"]}


def write_release(folder, date, *, active, term="AF", parent="", related=1, association="", state="Snapshot"):
    """Write a release of one concept, whose descriptions and relationships keep their ids."""
    folder.mkdir(exist_ok=True)
    code = "164889003"
    relationship = f"9\t{date}\t{related}\t0\t{code}\t{parent}\t0\t{IS_A}\t0\t0\n" if parent else ""
    files = {
        f"sct2_Concept_{state}_INT": f"{CONCEPT}{code}\t{date}\t{active}\t0\t0\n",
        f"sct2_Description_{state}-en_INT": f"{DESCRIPTION}1\t{date}\t1\t0\t{code}\ten\t0\t{term}\t0\n",
        f"sct2_Relationship_{state}_INT": RELATIONSHIP + relationship,
        f"der2_cRefset_Association{state}_INT": ASSOCIATION + association,
    }
    for name, text in files.items():
        (folder / f"{name}_{date}.txt").write_text(text, encoding="utf-8")
