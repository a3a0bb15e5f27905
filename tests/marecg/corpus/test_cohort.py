"""Cohorts: the records that an expression is true of, as a table and as a corpus."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made_records import make_ecg, make_record
from tests.marecg.corpus.prepared_folders import with_column

from ecg_records.readers.datasets import ptbxl
from marecg.corpus import index
from marecg.corpus.cohort import as_csv, cohort
from marecg.corpus.config import CorpusConfig
from marecg.corpus.derived import write_subset
from marecg.corpus.expression import matching
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus, read_about
from marecg.errors import CorpusError, UsageError

AF, ANT_MI, AMI, NSR = "164889003", "54329005", "57054005", "426783006"
RECORDS = {  # codes, age, sex
    "a": (ANT_MI, 61, "Female"),
    "b": (f"{AMI},{AF}", 45, "Male"),
    "c": (AF, 82, "Female"),
    "d": (NSR, "NaN", "Unknown"),
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    """Anterior infarction, an infarction with fibrillation, fibrillation, sinus rhythm of nobody known."""
    folder = tmp_path_factory.mktemp("cohort")
    for seed, (name, (dx, age, sex)) in enumerate(RECORDS.items()):
        comments = [f"Age: {age}", f"Sex: {sex}", f"Dx: {dx}"]
        make_record(folder / "clinic", name, make_ecg(seed=seed), comments=comments)
    prepare([folder / "clinic"], folder / "corpus", jobs=1)
    return Corpus.open(folder / "corpus")


@pytest.mark.parametrize(
    ("where", "records"),
    [
        ("AF", "bc"),
        ('"atrial fibrillation"', "bc"),
        (AF, "bc"),
        ("AMI", "ab"),
        ("OMI", "a"),
        ("AMI and AF", "b"),
        ("AMI and not AF", "a"),
        ("not OMI", "bcd"),
        ("Ischemic", "ab"),
        ("AF or AMI and age > 60", "abc"),
        ("(AF or AMI) and age > 60", "ac"),
        ("NOT (AF or AMI)", "d"),
        ("sex = F", "ac"),
        ("sex = female and age >= 82", "c"),
        ("age > 60", "ac"),
        ("not age > 60", "b"),
        ("age > 60 or NSR", "acd"),
        ("not (age > 60 and NSR)", "abc"),
        ("id = d", "d"),
        ("source != clinic", ""),
        ("source = Clinic", "abcd"),
        (f"codes = {AF}", "bc"),
        (f"codes != {AF}", "ad"),
        ("fs = 500 and seconds <= 10", "abcd"),
        ("date > 2019", ""),
    ],
)
def test_an_expression_finds_what_it_says(corpus, where, records):
    assert [corpus.ids[row] for row in matching(corpus, where)] == list(records)


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


@given(expressions())
def test_expressions_mean_what_sets_mean(corpus, pair):
    text, records = pair
    assert {corpus.ids[row] for row in matching(corpus, text)} == records


def test_infarctions_are_a_set_and_their_family_has_more(tmp_path_factory):
    """ST depression is ischaemic, and no infarction."""
    folder = tmp_path_factory.mktemp("infarctions")
    for name, dx in {"a": ANT_MI, "b": "429622005", "c": "164867002", "d": NSR}.items():
        make_record(folder / "clinic", name, make_ecg(seed=ord(name)), comments=[f"Dx: {dx}"])
    prepare([folder / "clinic"], folder / "corpus", jobs=1)
    corpus = Corpus.open(folder / "corpus")
    selected = {
        where: matching(corpus, where).tolist() for where in ("MI", "not MI", "Ischemic", "infarction")
    }
    assert selected == {"MI": [0, 2], "not MI": [1, 3], "Ischemic": [0, 1, 2], "infarction": [0, 2]}


@pytest.mark.parametrize(
    ("where", "warning"),
    [
        ("codes = 99999", "no record has codes '99999'; values are '164889003',"),
        ("source = nowhere", "no record has source 'nowhere'; values are 'clinic'"),
        ("device = X", "no record has a value of device"),
        ("statement = x", "no record has a value of statement"),
        ("patient = nobody", "no record has a value of patient"),
        ("id = D", "no record has id 'D'"),
        ("length > 1e9", "no record matches this length: values range from"),
    ],
)
def test_a_comparison_that_can_be_true_of_nobody_says_so(where, warning, corpus, caplog):
    assert not len(matching(corpus, where))
    assert warning in caplog.text


def test_blanks_in_a_name_count_as_one(corpus, tmp_path, caplog):
    corpus = with_column(corpus, tmp_path / "devices", device=["CS-12   E", "AT-6 C", None, "AT-6 C"])
    assert matching(corpus, 'device = "CS-12 E"').tolist() == [0]
    assert matching(corpus, 'device = "CS-12   E"').tolist() == [0]
    assert matching(corpus, 'device = "cs-12 e"').tolist() == [0], "in whatever case, as codes are"
    assert matching(corpus, 'device != "at-6 c"').tolist() == [0], "None is neither"
    assert not caplog.text
    assert not len(matching(corpus, 'device = "AT-6"'))
    assert "no record has device 'AT-6'; values are 'AT-6 C', 'CS-12 E'" in caplog.text


@pytest.mark.parametrize("date", ["2019", "2019-07", "2019-07-31", "2019-07-31T08"])
def test_a_date_is_a_year_a_month_a_day_or_an_hour(corpus, tmp_path, date):
    dates = ["2018-12-31T23:00:00", "2019-07-31T08:15:00", None, "2020-01-01T00:00:00"]
    corpus = with_column(corpus, tmp_path / "dates", acquired=dates)
    assert matching(corpus, f"date = {date}").tolist() == [1]
    assert matching(corpus, f"date >= {date}").tolist() == [1, 3]
    assert matching(corpus, f"not date >= {date}").tolist() == [0]


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("", "position 1: a concept or a field is missing"),
        ("AF and", "position 7: a concept or a field is missing"),
        ("AF AMI", "position 4: 'AMI' follows without and, or"),
        ("(AF or AMI", "position 11: a parenthesis isn't closed"),
        ("AF and )", "position 8: a concept or a field is missing before"),
        ("codes > 3", "position 9: a list has no order"),
        ("source > 3", "position 10: source is text, which has no order"),
        ("AF = 1", "position 1: 'AF' is the concept AF.* Write AF, or not AF"),
        ("age > old", "position 7: 'old' isn't a number"),
        ("AF and weight > 3", "position 8: the corpus has no column 'weight'"),
        ("AF and Paket", "position 8: .*Paket"),
        ("AF and age", "position 8: age is a column.* Compare it, as in age > 60"),
        ("age between 40", "position 1: age is a column"),
        (
            "AF and heart rate > 100",
            "position 8: the corpus has no column 'heart rate'.*mean .*rate or",
        ),
        ("sex = X", "sex must be F or M, got 'X'"),
        ("date >= 2019-13", "date must look like 2019, 2019-07 or 2019-07-31, got '2019-13'"),
        ('AF and "LB', "position 8: '\"' begins nothing"),
        ("age >", "position 6: a value is missing"),
    ],
)
def test_what_cannot_be_parsed_is_refused_with_its_position(corpus, where, problem):
    with pytest.raises(UsageError, match=problem):
        matching(corpus, where)


def test_a_cohort_says_where_its_records_are(corpus):
    table = cohort(corpus, "AF")
    lines = as_csv(table).splitlines()
    assert lines[0] == (
        "row,name,identity,id,source,patient,age,sex,acquired,device,codes,root,path,fs,length,"
        "statements,machine_rate,machine_p,machine_pr,machine_qrs,machine_qt,machine_qtc,machine_axis,leaves"
    )
    cells = lines[1].split(",")
    expected = f"1,clinic/b,,b,clinic,,45.0,M,,,{AMI} {AF},clinic,b.hea,500.0,5000,,,,,,,,"
    assert cells[:-1] == expected.split(",")
    leaves = {node.abbr: node.index for node in corpus.ontology().nodes}
    for row, names in zip(table["row"].to_pylist(), table["leaves"].to_pylist(), strict=True):
        assert np.flatnonzero(corpus.y[row]).tolist() == [leaves[name] for name in names]


def test_a_cohort_is_a_corpus_of_its_records_alone(corpus, tmp_path):
    rows = matching(corpus, "AF or NSR")
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


def test_real_records_are_found_by_date_device_and_sex(realdata, tmp_path):
    """PTB-XL's table says all three, and who a record is to the world."""
    prepare([realdata / "ptbxl"], tmp_path / "corpus", CorpusConfig(ptbxl_folds=(9,)), jobs=1)
    corpus = Corpus.open(tmp_path / "corpus")
    database = {int(row.ecg_id): row for row in ptbxl.database(realdata / "ptbxl")}
    table = cohort(corpus, 'sex = F and date >= 1990 and date < 1992 and device = "CS-12 E"')
    rows = [(record, database[int(record)]) for record in corpus.ids]
    women = [(record, row) for record, row in rows if (row.sex, row.device) == ("F", "CS-12 E")]
    expected = [record for record, row in women if "1990" <= str(row.acquired)[:4] < "1992"]
    assert table["id"].to_pylist() == expected != []
    normal = {record for record, row in rows if "NORM" in row.scp}
    assert set(cohort(corpus, "statement = norm")["id"].to_pylist()) == normal
    assert table["identity"].to_pylist() == [f"ptbxl/{record}" for record in expected]


def test_statements_are_asked_for_what_they_say(corpus, tmp_path):
    shutil.copytree(corpus.folder, tmp_path / "corpus")
    file = tmp_path / "corpus" / "index.parquet"
    rows = pq.read_table(file)
    texts = [["Sinus rhythm", "Possible LVH"], ["No LVH"], *([] for _ in range(len(rows) - 2))]
    place = rows.schema.get_field_index("statements")
    rows = rows.set_column(place, "statements", pa.array(texts, pa.list_(pa.string())))
    index.complete(tmp_path / "corpus", read_about(corpus.folder), rows)
    changed = Corpus.open(tmp_path / "corpus")
    assert matching(changed, "says = LVH").tolist() == [0]
    assert matching(changed, "says = Structural and says != AF").tolist() == [0]
    assert 0 not in matching(changed, "says != LVH")
    with pytest.raises(UsageError, match="a concept has no order"):
        matching(changed, "says < LVH")


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
