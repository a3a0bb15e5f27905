"""A user's table of codes: a row per record and code, in any of four vocabularies."""

import pyarrow as pa
import pytest
from pyarrow import parquet

import ecg_ontology
from ecg_base import InputError, UsageError
from ecg_ontology import read_code_table
from ecg_ontology.codes.corpus_codes import corpus_of
from ecg_ontology.codes.coverage import coverage_of

AF, SINUS = "164889003", "426783006"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_rows_become_each_records_codes_in_order_and_once(tmp_path, between):
    rows = ["ecg,who,dx", f"a,p1,{AF}", f"b,p2,{SINUS}", f"a,p1,{SINUS}", f"a,p1,{AF}", "c,,"]
    table = write(tmp_path / "t.csv", "\n".join(rows).replace(",", between) + "\n")
    read = read_code_table(table, "ecg", "dx", "who")
    assert read.codes == {"a": (AF, SINUS), "b": (SINUS,), "c": ()}
    assert read.patients == {"a": "p1", "b": "p2"}


@pytest.mark.parametrize(
    ("column", "values", "codes"),
    [
        ("code", pa.array([AF, SINUS, None]), [(AF,), (SINUS,), ()]),
        ("code", pa.array([int(AF), int(SINUS), None], pa.int64()), [(AF,), (SINUS,), ()]),
        ("code", pa.array([int(AF), int(SINUS), None], pa.float64()), [(AF,), (SINUS,), ()]),
        ("codes", pa.array([[AF, SINUS], [], None]), [(AF, SINUS), (), ()]),
    ],
    ids=["text", "integers", "floats", "lists"],
)
def test_parquet_gives_codes_as_text_as_numbers_or_as_lists(tmp_path, column, values, codes):
    parquet.write_table(pa.table({"id": [7, 8, 9], column: values}), tmp_path / "t.parquet")
    assert read_code_table(tmp_path / "t.parquet").codes == dict(zip("789", codes, strict=True))


def test_a_parquet_table_with_damaged_pages_is_one_clear_error(tmp_path):
    table = pa.table({"id": [f"record {row}" for row in range(5000)], "code": [AF] * 5000})
    parquet.write_table(table, tmp_path / "t.parquet")
    damaged = bytearray((tmp_path / "t.parquet").read_bytes())
    damaged[4:2000] = b"\xff" * 1996
    (tmp_path / "t.parquet").write_bytes(damaged)
    with pytest.raises(InputError, match=r"t\.parquet: can't be read"):
        read_code_table(tmp_path / "t.parquet")


def test_other_vocabularies_become_curies_unless_they_are_already(tmp_path):
    table = write(tmp_path / "t.csv", "id,code\na,NORM\na,scp:IMI\n")
    assert read_code_table(table, vocabulary="scp").codes == {"a": ("scp:NORM", "scp:IMI")}
    assert read_code_table(table, vocabulary="icd10").codes == {"a": ("icd10:NORM", "scp:IMI")}


HEAD = "subject_id\tpredicate_id\tpredicate_modifier\tobject_id\tmapping_justification\n"
WHY = "semapv:ManualMappingCuration"


def test_icd_10_is_mapped_by_the_users_sssom_with_or_without_dots(tmp_path):
    rows = (
        f"ICD10:I48.0\tskos:broadMatch\t\tSNOMEDCT:{AF}\t{WHY}\n",
        f"ICD10:I47.1\tskos:narrowMatch\t\tSNOMEDCT:{SINUS}\t{WHY}\n",
        f"ICD10:I47.2\tskos:exactMatch\tNot\tSNOMEDCT:{SINUS}\t{WHY}\n",
    )
    mapping = write(tmp_path / "icd10.sssom.tsv", HEAD + "".join(rows))
    table = write(tmp_path / "t.csv", "id,code\na,I48.0\nb,I480\nc,I47.1\nd,I47.2\n")
    read = read_code_table(table, vocabulary="icd10", mapping=mapping)
    unmapped = {"c": ("icd10:I47.1",), "d": ("icd10:I47.2",)}
    assert read.codes == {"a": (AF,), "b": (AF,)} | unmapped, "no narrower and no denied meaning"
    assert set(read.about["sha256"]) == {"table", "mapping"}


def test_local_texts_are_mapped_by_a_plain_table(tmp_path):
    rows = (f"Rhythmus: VHF;{AF}", f"Befund: VHF;{SINUS}", f"Befund: VHF;{AF}", "Linkstyp;", f"心房颤动;{AF}")
    mapping = write(tmp_path / "local.csv", "\ufeffcode;snomed\n" + "\n".join(rows) + "\n")
    texts = ("Rhythmus: VHF", "Befund: VHF", "Linkstyp", "心房颤动", "rhythmus: vhf")
    table = write(tmp_path / "t.csv", "id;code\n" + "\n".join(f"{i};{text}" for i, text in enumerate(texts)))
    codes = read_code_table(table, mapping=mapping).codes
    assert [codes[str(i)] for i in range(4)] == [(AF,), (SINUS, AF), ("Linkstyp",), (AF,)]
    assert codes["4"] == (AF,), "none is spelt so: what is the same but for case"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("code,sctid\nVHF,1\n", "columns code and snomed, got no snomed. Rename the columns"),
        ("code,snomed\nVHF,AF\n", r"line 2: snomed must be a SNOMED CT identifier, got 'AF'"),
    ],
)
def test_a_plain_table_that_is_no_mapping_is_refused(tmp_path, text, words):
    mapping = write(tmp_path / "local.csv", text)
    with pytest.raises(InputError, match=words):
        read_code_table(write(tmp_path / "t.csv", "id,code\na,VHF\n"), mapping=mapping)


def test_omop_is_read_through_the_users_concept_table(tmp_path):
    concept = write(
        tmp_path / "CONCEPT.csv",
        "concept_id\tconcept_name\tvocabulary_id\tconcept_code\n"
        f'313217\tAtrial "fibrillation"\tSNOMED\t{AF}\n'
        "45576876\tAF\tICD10CM\tI48.91\n",
    )
    header = "condition_occurrence_id,person_id,condition_concept_id,visit_occurrence_id"
    table = write(tmp_path / "t.csv", f"{header}\n1,9,313217,v1\n2,9,45576876,v1\n3,8,77,v2\n")
    columns = ("visit_occurrence_id", "condition_concept_id", "person_id", "omop")
    read = read_code_table(table, *columns, concepts=concept)
    assert read.codes == {"v1": (AF, "icd10cm:I48.91"), "v2": ("omop:77",)}
    assert read.patients == {"v1": "9", "v2": "8"}


@pytest.mark.parametrize(
    ("name", "content", "error", "words"),
    [
        ("t.csv", b"id,dx\na,1\n", UsageError, "no column code"),
        ("t.csv", b"id,code\n,1\n", InputError, "must name a record, got an empty cell"),
        ("t.csv", b"id,code\na,1,2\n", InputError, "must have 2 cells like the header, got 3"),
        (
            "t.csv",
            b"id,code,patient\na,1,p\na,2,q\n",
            InputError,
            "record a must have one patient, got a second patient",
        ),
        ("t.csv", b"", UsageError, "no column"),
        ("t.csv", "id;code\nGröße;VHF\n".encode("cp1252"), InputError, r"UTF-8 text\. Save it as UTF-8"),
        ("t.parquet", b"no", InputError, "isn't a Parquet table"),
        ("none.csv", None, InputError, "none.csv"),
    ],
)
def test_what_is_no_table_or_one_that_cannot_be_meant_is_refused(tmp_path, name, content, error, words):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=words):
        read_code_table(tmp_path / name, patient_column="patient" if b"patient" in (content or b"") else "")


def test_coverage_counts_a_table_as_it_counts_headers(onto, tmp_path):
    table = write(tmp_path / "t.csv", f"id,code\na,{AF}\na,{SINUS}\nb,\n")
    coverage = coverage_of(onto, corpus_of(table, read_code_table(table).codes.values()))
    assert (coverage.leaves["AF"], coverage.records.records, coverage.records.without_leaf) == (1, 2, 1)


@pytest.mark.parametrize(
    ("subjects", "code", "targets"),
    [
        (("1.1", "11"), "11", (AF,)),
        (("1.1", "11"), "1.1", (SINUS,)),
        (("1.1",), "11", ()),
        (("AF",), "af", (SINUS,)),
        *(((("AF",), text, ())) for text in ("no:AF", "Denies:AF", "possible:AF", "A.F.")),
        (("I48.0",), "icd10:I480", (SINUS,)),
        (("icd10cm:I48.0",), "I480", (SINUS,)),
        (("icd10cm:I48.0",), "ICD10:I48.0", (SINUS,)),
        (("ge:11",), "muse:11", ()),
        (("ge:11",), "11", (SINUS,)),
        (("ge:11", "muse:11"), "11", ()),
        (("a", "A"), "A", (AF,)),
    ],
)
def test_a_code_has_the_target_of_no_other_code(tmp_path, subjects, code, targets):
    """Codes of the mapping stand for sinus rhythm and, the second, atrial fibrillation."""
    rows = "".join(f"{subject},{target}\n" for subject, target in zip(subjects, (SINUS, AF), strict=False))
    mapping = write(tmp_path / "m.csv", f"code,snomed\n{rows}")
    assert ecg_ontology.CodeMapping.read(mapping).of(code) == targets


def test_a_target_that_a_spreadsheet_counted_up_is_refused(tmp_path):
    mapping = write(tmp_path / "m.csv", f"code,snomed\n1,{AF}\n2,164889004\n")
    with pytest.raises(InputError, match=r"line 3.*must be a SNOMED CT identifier, got .*: its check digit"):
        ecg_ontology.CodeMapping.read(mapping)


def test_a_table_with_two_columns_of_codes_is_refused(tmp_path):
    table = write(tmp_path / "t.csv", f"id,code,code\na,{AF},{SINUS}\n")
    with pytest.raises(InputError, match="has two columns code"):
        read_code_table(table)


CONCEPT_HEAD = "concept_id\tconcept_name\tvocabulary_id\tconcept_code\n"


def test_quotes_in_a_concept_table_are_letters(tmp_path):
    """Athena writes without quoting: two names that begin with a quote enclose no rows."""
    text = f'1\t"edoxaban\tATC\tB01\n313217\tAF\tSNOMED\t{AF}\n2\t"other\tATC\tB02\n'
    concept = write(tmp_path / "CONCEPT.csv", CONCEPT_HEAD + text)
    table = write(tmp_path / "t.csv", "id,code\na,313217\nb,2\n")
    read = read_code_table(table, vocabulary="omop", concepts=concept)
    assert read.codes == {"a": (AF,), "b": ("atc:B02",)}


def test_a_concept_id_with_a_decimal_zero_is_whole_and_a_rounded_one_is_refused(tmp_path):
    concept = write(tmp_path / "CONCEPT.csv", f"{CONCEPT_HEAD}313217\tAF\tSNOMED\t{AF}\n")
    table = write(tmp_path / "t.csv", "id,code\na,313217.0\n")
    assert read_code_table(table, vocabulary="omop", concepts=concept).codes == {"a": (AF,)}
    write(table, "id,code\na,3.13217E5\n")
    refused = r"line 2: an OMOP concept id must be a whole number, got 3.13217E5\. Spreadsheet programs"
    with pytest.raises(InputError, match=refused):
        read_code_table(table, vocabulary="omop", concepts=concept)


def test_a_mapping_of_which_no_row_fits_is_reported(tmp_path, caplog):
    table = write(tmp_path / "t.csv", "id,code\na,VHF\nb,LSB\n")
    mapping = write(tmp_path / "m.csv", f"code,snomed\nfibrillation,{AF}\n")
    assert read_code_table(table, mapping=mapping).codes == {"a": ("VHF",), "b": ("LSB",)}
    assert "no row matches any of the 2 codes" in caplog.text
    caplog.clear()
    write(mapping, f"code,snomed\nVHF,{AF}\n")
    assert read_code_table(table, mapping=mapping).codes == {"a": (AF,), "b": ("LSB",)}
    assert caplog.text == ""


def test_a_mapping_in_the_other_direction_is_refused(tmp_path):
    table = write(tmp_path / "t.csv", "id,code\na,I48.91\n")
    head = '#curie_map:\n#  snomedct: "http://snomed.info/id/"\n#  icd10: "http://x/"\n'
    columns = "subject_id\tpredicate_id\tobject_id\tmapping_justification\n"
    row = f"snomedct:{AF}\tskos:exactMatch\ticd10:I48.91\tsemapv:ManualMappingCuration\n"
    mapping = write(tmp_path / "m.sssom.tsv", head + columns + row)
    with pytest.raises(InputError, match=r"must map codes to SNOMED CT, got icd10:I48\.91"):
        read_code_table(table, vocabulary="icd10", mapping=mapping)


def test_metadata_that_a_spreadsheet_program_quoted_is_read(tmp_path):
    table = write(tmp_path / "t.csv", "id,code\na,icd10:I48.91\n")
    head = '"#mapping_set_version: ""1.2.0"""\t\t\t\n#curie_map:\t\t\t\n"#  sno: ""http://snomed.info/id/"""\t\t\t\n'
    columns = "subject_id\tpredicate_id\tobject_id\tmapping_justification\n"
    row = f"icd10:I48.91\tskos:exactMatch\tsno:{AF}\tsemapv:ManualMappingCuration\n"
    mapping = write(tmp_path / "m.sssom.tsv", head + columns + row)
    assert read_code_table(table, vocabulary="icd10", mapping=mapping).codes == {"a": (AF,)}
