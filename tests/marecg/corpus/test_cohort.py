"""Cohorts: the records that an expression is true of, as a table and as a corpus."""

import shutil

import duckdb
import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.calls import invoke as run
from tests.made_records import make_ecg, make_record
from tests.marecg.corpus.prepared_folders import with_column

from ecg_ontology import Ontology
from ecg_records.readers.datasets import ptbxl
from marecg.corpus import index
from marecg.corpus.cohort import as_csv, cohort
from marecg.corpus.config import CorpusConfig
from marecg.corpus.derived import relabelled, write_subset
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus, read_about
from marecg.errors import CorpusError, UsageError

AF, ANT_MI, AMI, NSR, AVB = "164889003", "54329005", "57054005", "426783006", "270492004"
RECORDS = {  # codes, age, sex
    "a": (ANT_MI, 61, "Female"),
    "b": (f"{AMI},{AF}", 45, "Male"),
    "c": (AF, 82, "Female"),
    "d": (f"{NSR},{AVB}", "NaN", "Unknown"),
}
KNOWN = {  # of a and b
    "device": ["CS-12 E", "AT-6 C"],
    "acquired": ["2018-12-31T23:00:00", "2019-07-31T08:15:00"],
    "statements": [["Sinus rhythm", "Possible LVH"], ["No LVH"]],
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    """Anterior infarction, an infarction with fibrillation, fibrillation, sinus rhythm with AV block.

    Age and sex of d are unknown. The device, the date and the statements of a and b are known.
    """
    folder = tmp_path_factory.mktemp("cohort")
    for seed, (name, (dx, age, sex)) in enumerate(RECORDS.items()):
        comments = [f"Age: {age}", f"Sex: {sex}", f"Dx: {dx}"]
        make_record(folder / "clinic", name, make_ecg(seed=seed), comments=comments)
    prepare([folder / "clinic"], folder / "corpus", jobs=1)
    return with_column(Corpus.open(folder / "corpus"), folder / "known", **KNOWN)


def found(corpus: Corpus, where: str) -> str:
    """The records of a cohort, each by its letter."""
    return "".join(cohort(corpus, where)["id"].to_pylist())


@pytest.mark.parametrize(
    ("where", "records"),
    [
        ("AF", "bc"),
        ("AMI", "ab"),
        ("OMI", "a"),
        ("af AND ami", "b"),
        ("AMI and not AF", "a"),
        ("not OMI", "bcd"),
        ("Ischemic", "ab"),
        ("MI", "ab"),
        ('"1AVB"', "d"),
        ("AF or AMI and age > 60", "abc"),
        ("(AF or AMI) and age > 60", "ac"),
        ("sex = 'F'", "ac"),
        ("sex != 'F'", "b"),
        ("age between 60 and 70", "a"),
        ("age > 60", "ac"),
        ("not age > 60", "b"),
        ("age > 60 or NSR", "acd"),
        ("not (age > 60 and NSR)", "abc"),
        ("age is null", "d"),
        ("id = 'd'", "d"),
        (f"'{AF}' in codes", "bc"),
        (f"not '{AF}' in codes", "ad"),
        ("fs = 500 and seconds <= 10", "abcd"),
        ("device = 'AT-6 C'", "b"),
        ("device != 'AT-6 C'", "a"),
        ("date >= '2019'", "b"),
        ("date >= '2019-07'", "b"),
        ("not date >= '2019-07-31T08'", "a"),
        ("date like '2018%'", "a"),
        ("'No LVH' in statements", "b"),
        ("'LVH' in says", "a"),
        ("'Structural' in says and not LVH", "a"),
        ("array_to_string(codes, ' ') LIKE '% %' OR array_to_string(codes, ' ') LIKE '5432%'", "abd"),
        ("AF -- of any age", "bc"),
    ],
)
def test_an_expression_finds_what_it_says(corpus, where, records, caplog):
    assert found(corpus, where) == records
    assert "no record has" not in caplog.text


LEAVES = {"AF": {"b", "c"}, "AMI": {"a", "b"}, "NSR": {"d"}, "age > 60": {"a", "c"}}


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> tuple[str, set[str]]:
    """An expression of the three concepts, and what it means for records a to d."""
    if depth == 0 or draw(st.booleans()):
        name = draw(st.sampled_from(["AF", "AMI", "NSR"]))
        return name, LEAVES[name]
    if draw(st.booleans()):
        text, records = draw(expressions(depth=depth - 1))
        return f"not ({text})", set(RECORDS) - records
    (one, left), (other, right) = draw(expressions(depth=depth - 1)), draw(expressions(depth=depth - 1))
    if draw(st.booleans()):
        return f"({one}) and ({other})", left & right
    return f"({one}) or ({other})", left | right


@settings(max_examples=25)
@given(expressions())
def test_expressions_mean_what_sets_mean(corpus, pair):
    text, records = pair
    assert set(found(corpus, text)) == records


def test_infarctions_are_a_set_and_their_family_has_more(tmp_path_factory):
    """ST depression is ischaemic, and no infarction."""
    folder = tmp_path_factory.mktemp("infarctions")
    for name, dx in {"a": ANT_MI, "b": "429622005", "c": "164867002", "d": NSR}.items():
        make_record(folder / "clinic", name, make_ecg(seed=ord(name)), comments=[f"Dx: {dx}"])
    prepare([folder / "clinic"], folder / "corpus", jobs=1)
    corpus = Corpus.open(folder / "corpus")
    selected = {where: cohort(corpus, where)["row"].to_pylist() for where in ("MI", "not MI", "Ischemic")}
    assert selected == {"MI": [0, 2], "not MI": [1, 3], "Ischemic": [0, 1, 2]}


@pytest.mark.parametrize(
    ("where", "warning"),
    [
        ("'99999' in codes", f"no record has contains(codes, '99999'); codes is '{AF}', "),
        ("source = 'nowhere'", "no record has (\"source\" = 'nowhere'); source is 'clinic'"),
        ("sex != 'female'", "no record has (sex = 'female'); sex is 'F', 'M'"),
        ("not sex in ('f', 'm')", "no record has (sex IN ('f', 'm')); sex is 'F', 'M'"),
        ("machine_qrs > 1", "no record has (machine_qrs > 1); machine_qrs is unknown for every record"),
        ("AF and length > 1e9", "no record has (length > 1e9); length is from 5000 to 5000"),
        ("AF > 5", "no record has (AF > 5)"),
        ("date < '1990'", "date is from 2018-12-31T23:00:00 to 2019-07-31T08:15:00"),
    ],
)
def test_a_comparison_that_can_be_true_of_nobody_says_so(where, warning, corpus, caplog):
    cohort(corpus, where)
    assert warning in caplog.text


def test_names_of_records_are_not_printed(corpus, caplog):
    assert not found(corpus, "id = 'D'")
    assert caplog.messages == ["no record has (id = 'D')"]


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("", "must be one expression"),
        ("AF and", "position 7: the expression ends too early"),
        ("AF AMI", "position 4: .*AMI"),
        ("(AF or AMI", "position 11: the expression ends too early"),
        ("AF and )", "position 8: "),
        ("1AVB", 'position 2: .*A name that begins with a digit .* needs double quotes: "1AVB"'),
        ("atrial fibrillation", "position 8: "),
        ("codes > 3", "Write .* an element of a list as '164889003' IN codes"),
        ("says = AF", "Write .* an element of a list as '164889003' IN codes"),
        ("sex = F", "no column 'F'.*Write text as 'F'"),
        ("source > 3", "Cannot compare values of type VARCHAR"),
        ("date >= 2019-07", "Cannot compare values of type VARCHAR.*Write text as 'F'"),
        ("age > 'old'", "Could not convert string 'old' to DOUBLE"),
        ("AF and weight > 3", "no column 'weight'. The columns are .*age, sex, .*qrs"),
        ("AF and Paket", "no column 'Paket'. Did you mean .*Paced"),
        ("heart_rate > 100", "no column 'heart_rate'. Did you mean machine_rate or rate"),
        ('"atrial fibrillation" and age > 60', "Write AF, the concept's abbreviation"),
        ('"first degree av block"', 'Write "1AVB", the concept\'s abbreviation'),
        ("AF and age", "age must be a condition that is true or false.* Compare it, as in age > 60"),
        (f"AF or not {AF}", f"{AF} must be a condition that is true or false.* write a concept, as in AF"),
    ],
)
def test_what_is_no_condition_is_refused_with_its_remedy(corpus, where, problem):
    with pytest.raises(UsageError, match=problem):
        cohort(corpus, where)


@pytest.mark.parametrize(
    "where",
    [
        "1=1; ATTACH '{file}' AS y",
        "1=1; COPY (SELECT 1) TO '{file}'",
        "pragma version",
        "AF, AMI",
        "AF ORDER BY age",
        "AF GROUP BY sex",
        "AF) OR (AMI",
        "AF) UNION SELECT 1 WHERE (AMI",
        "AF) GROUP BY (sex",
        "read_csv('/etc/passwd')",
        "exists (select * from read_csv('/etc/passwd'))",
        "exists (from '/etc/passwd')",
        "(select count(*) from read_text('/etc/passwd')) > 0",
        "exists (from duckdb_settings())",
        "getenv('HOME') = 'x'",
        "exists (from corpus)",
        "count(*) > 1",
        "COLUMNS(*)",
        "$1 = 1",
        pytest.param("(" * 5000 + "AF" + ")" * 5000, id="parentheses"),
        pytest.param("not " * 5000 + "AF", id="not"),
        pytest.param("age" + " + 1" * 5000 + " > 1", id="sum"),
        "len(repeat(name, 100000000)) > 0",
        "len(range(1000000000)) > 0",
        "levenshtein(name, id) > 0",
        pytest.param("array_to_string(codes, " * 20 + "';'" + ")" * 20 + " = 'a'", id="exponential"),
        pytest.param(" or ".join(["age = 1"] * 1000), id="conditions"),
        "AF\0",
    ],
)
def test_an_expression_reaches_nothing_but_the_table(corpus, where, tmp_path):
    with pytest.raises(UsageError):
        cohort(corpus, where.format(file=tmp_path / "file"))
    assert not list(tmp_path.iterdir())


def test_a_concept_called_as_a_column_leaves_the_column(corpus, tmp_path):
    graph = Ontology.from_networkx(nx.DiGraph([("QRS", "Wave"), ("Age", "Wave")]), "https://example.org/x")
    waves = relabelled(corpus, graph, tmp_path / "waves")
    assert found(waves, "age > 60 AND qrs > 60 AND NOT QRS_concept") == "ac"
    assert "MI" not in cohort(waves, "Wave OR age > 60").column_names


def test_the_whole_table_answers_in_duckdb_and_pandas_what_where_answers(corpus, tmp_path):
    out = tmp_path / "table.parquet"
    assert run("cohort", corpus.folder, "--out", out)[0] == 0
    frame = pq.read_table(out).to_pandas()
    for where, by_pandas in (
        ("AF AND age > 60", "AF and age > 60"),
        ('MI OR "1AVB"', "MI or `1AVB`"),
        ("qrs > 60 AND sex = 'M'", "qrs > 60 and sex == 'M'"),
    ):
        rows = duckdb.read_parquet(str(out)).filter(where).order("row").project("id").fetchall()
        assert (
            "".join(id_ for (id_,) in rows) == found(corpus, where) == "".join(frame.query(by_pandas)["id"])
        )
    assert frame["leaves"].map(list).tolist() == [
        [node.abbr for node in corpus.ontology().nodes if not node.root and row[node.index]]
        for row in corpus.y
    ]


def test_a_cohort_says_where_its_records_are(corpus):
    lines = as_csv(cohort(corpus, "AF")).splitlines()
    row = dict(zip(lines[0].split(","), lines[1].split(","), strict=True))
    place = {"row": "1", "name": "clinic/b", "identity": "", "id": "b", "source": "clinic", "path": "b.hea"}
    assert place.items() <= row.items()
    assert (row["age"], row["sex"], row["patient"], row["codes"]) == ("45.0", "M", "", f"{AMI} {AF}")
    assert row["leaves"].split() == ["AF", "AMI"]


def test_a_cohort_is_a_corpus_of_its_records_alone(corpus, tmp_path):
    rows = np.array(cohort(corpus, "AF or NSR")["row"])
    write_subset(corpus, rows.tolist(), tmp_path / "few", "AF or NSR")
    few = Corpus.open(tmp_path / "few")
    assert list(few.ids) == ["b", "c", "d"]
    np.testing.assert_array_equal(few.stored(range(3)), corpus.stored(rows))
    np.testing.assert_array_equal(few.y, corpus.y[rows])
    assert few.ontology_sha256 == corpus.ontology_sha256
    with pytest.raises(CorpusError, match="is already a prepared corpus"):
        prepare([tmp_path / "few"], tmp_path / "again", jobs=1)
    assert not (tmp_path / "again").exists()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "few").iterdir()}
    write_subset(corpus, rows.tolist(), tmp_path / "few", "AF or NSR")
    assert {path: path.stat().st_mtime_ns for path in before} == before
    for others, text in ((rows[:2], "AF or NSR"), (rows, "NSR or AF")):
        with pytest.raises(UsageError, match="would be lost"):
            write_subset(corpus, others.tolist(), tmp_path / "few", text)
    (tmp_path / "few/shards/00000.npy").unlink()
    with pytest.raises(UsageError, match="would be lost"):
        write_subset(corpus, rows.tolist(), tmp_path / "few", "AF or NSR")
    with pytest.raises(UsageError, match="no record matches"):
        write_subset(corpus, [], tmp_path / "none", "AF and NSR")
    assert not (tmp_path / "none").exists()


def test_nobody_but_owner_and_group_may_read_who_is_in_a_cohort(corpus, tmp_path):
    write_subset(corpus, [0, 1], tmp_path / "few", "AF")
    assert not (tmp_path / "few").stat().st_mode & 0o007
    assert not (tmp_path / "few" / "index.parquet").stat().st_mode & 0o007


def test_real_records_are_found_by_date_device_and_sex(realdata, tmp_path):
    """PTB-XL's table says all three, and who a record is to the world."""
    prepare([realdata / "ptbxl"], tmp_path / "corpus", CorpusConfig(ptbxl_folds=(9,)), jobs=1)
    corpus = Corpus.open(tmp_path / "corpus")
    database = {int(row.ecg_id): row for row in ptbxl.database(realdata / "ptbxl")}
    table = cohort(corpus, "sex = 'F' AND date >= '1990' AND date < '1992' AND device LIKE 'CS-12%E'")
    rows = [(record, database[int(record)]) for record in corpus.ids]
    women = [(record, row) for record, row in rows if (row.sex, row.device) == ("F", "CS-12 E")]
    expected = [record for record, row in women if "1990" <= str(row.acquired)[:4] < "1992"]
    assert table["id"].to_pylist() == expected != []
    normal = {record for record, row in rows if "NORM" in row.scp}
    assert set(cohort(corpus, "'NORM' IN statements")["id"].to_pylist()) == normal
    assert table["identity"].to_pylist() == [f"ptbxl/{record}" for record in expected]


def test_ages_that_an_older_corpus_has_as_text_are_read_as_numbers_or_refused(corpus, tmp_path):
    """Corpora of older versions have no hash of their index, so another program may have changed it."""
    shutil.copytree(corpus.folder, tmp_path / "corpus")
    about = read_about(corpus.folder)
    del about[index.HASH]
    index.write_json(about, tmp_path / "corpus" / index.ABOUT)
    file = tmp_path / "corpus" / "index.parquet"
    rows = pq.read_table(file)
    place = rows.schema.get_field_index("age")
    pq.write_table(rows.set_column(place, "age", rows["age"].cast(pa.string())), file)
    assert len(cohort(Corpus.open(tmp_path / "corpus"), "age > 60")) == 2
    words = pa.array(["old"] * len(rows))
    pq.write_table(rows.set_column(place, "age", words), file)
    with pytest.raises(CorpusError, match=r"index\.parquet: can't be read \(.*'old'"):
        cohort(Corpus.open(tmp_path / "corpus"), "age > 60")
