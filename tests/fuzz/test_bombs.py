"""Workbooks, tables, archives, programs and folders that are made to cost or to mislead: one line, in bounds.

What costs by its size is tried in a process of its own, whose memory and time are counted.
"""

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.fuzz.test_hostile import run

from ecg_base import InputError
from ecg_ontology import read_code_table
from ecg_ontology.curation.sheets import read_sheet, write_sheet
from marecg.corpus import index, trained_on
from marecg.embedding.embedding_files import blocks
from marecg.errors import CheckpointError
from marecg.evaluate.scores import predictions
from marecg.model import pretrained
from marecg.model.mar_ecg import MarEcg
from marecg.recipes.named import tiny

SHEET = "xl/worksheets/sheet1.xml"
LAUGHS = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(8))
ENTITIES = f'<!DOCTYPE x [<!ENTITY e0 "0123456789">{LAUGHS}]>'
FETCHES = '<!DOCTYPE x [<!ENTITY e8 SYSTEM "file:///etc/hostname">]>'
ROW = '<row r="{0}"><c r="A{0}" t="inlineStr"><is><t>{1}</t></is></c></row>'


def workbook(path: Path, rows: str, doctype: str = "") -> Path:
    """A workbook whose one sheet has these rows, and this before its root."""
    write_sheet(path.with_name("good.xlsx"), ("code",), [{"code": "1"}])
    with zipfile.ZipFile(path.with_name("good.xlsx")) as good, zipfile.ZipFile(path, "w", 8) as out:
        for name in good.namelist():
            text = good.read(name)
            if name == SHEET:
                head = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
                text = f"{doctype}{head}<sheetData>{rows}</sheetData></worksheet>".encode()
            out.writestr(name, text)
    return path


def rows_of(count: int) -> str:
    return "".join(ROW.format(number, "code") for number in range(1, count + 1))


@pytest.mark.parametrize("doctype", [ENTITIES, FETCHES], ids=["multiply", "fetch"])
def test_a_workbook_whose_entities_multiply_or_fetch_is_refused_in_one_line(doctype, tmp_path):
    path = workbook(tmp_path / "a.xlsx", ROW.format(1, "code") + ROW.format(2, "&e8;"), doctype)
    with pytest.raises(InputError, match="isn't a workbook") as refused:
        read_sheet(path, ("code",))
    assert "\n" not in str(refused.value)


def test_a_workbook_of_far_too_many_rows_is_refused_before_it_is_unpacked(tmp_path):
    path = workbook(tmp_path / "a.xlsx", rows_of(300_000))
    outcome = run(["ecgonto", "review", "--apply", str(path)], tmp_path / "said.txt")
    assert outcome.code in {2, 3}
    assert "Traceback" not in outcome.printed
    with pytest.raises(InputError, match=r"must unpack to at most 16 MB, got"):
        read_sheet(path, ("code",))
    assert outcome.seconds < 5
    assert outcome.growth < 1 << 30


def test_a_workbook_of_formulas_names_the_first(tmp_path):
    formulas = '<row r="2"><c r="A2"><f>HYPERLINK("http://a.invalid")</f></c></row>'
    with pytest.raises(InputError, match=r"a\.xlsx:2 A: must be text, got a formula"):
        read_sheet(workbook(tmp_path / "a.xlsx", rows_of(1) + formulas), ("code",))


def test_an_archive_in_an_archive_is_not_opened(tmp_path):
    inner = tmp_path / "inner.npz"
    np.savez(inner, x=np.zeros((12, 5000), np.float32))
    records = tmp_path / "records"
    records.mkdir()
    with zipfile.ZipFile(records / "a.npz", "w") as outer:
        outer.write(inner, "x.npy")
    argv = ["prepare", str(records), "--out", str(tmp_path / "corpus"), "--jobs", "1", "--fs", "500"]
    outcome = run(argv, tmp_path / "said.txt")
    assert outcome.code == 1
    assert "can't be read as .npz" in outcome.printed
    assert "Traceback" not in outcome.printed


def test_a_program_with_weights_outside_of_its_folder_is_no_input_of_any_command(tmp_path):
    onnx = pytest.importorskip("onnx")
    weights = onnx.TensorProto(name="w", dims=[4], data_type=1, data_location=1)
    weights.external_data.add(key="location", value="../../etc/hostname")
    graph = onnx.helper.make_graph([], "g", [], [], initializer=[weights])
    (tmp_path / "model.onnx").write_bytes(onnx.helper.make_model(graph).SerializeToString())
    np.save(tmp_path / "a.npy", np.zeros((12, 5000), np.float32))
    for place in (tmp_path / "model.onnx", tmp_path):
        argv = ["predict", str(place), str(tmp_path / "a.npy"), "--fs", "500"]
        outcome = run(argv, tmp_path / "said.txt")
        assert outcome.code in {2, 3}, outcome.printed
        assert "Traceback" not in outcome.printed


def test_a_model_that_is_swapped_while_its_files_are_read_is_one_of_both_or_refused(tmp_path, monkeypatch):
    """Another width comes in after config.json was read, and its tensors aren't those that it describes."""
    small = tiny().model
    wide = small.model_copy(update={"width": 2 * small.width})
    MarEcg(small).save_pretrained(tmp_path / "model")
    MarEcg(wide).save_pretrained(tmp_path / "other")
    as_it_is = pretrained.read

    def swapped(folder: Path) -> object:
        described = as_it_is(folder)
        shutil.rmtree(folder)
        (tmp_path / "other").rename(folder)
        return described

    monkeypatch.setattr(pretrained, "read", swapped)
    with pytest.raises(CheckpointError, match=r"model.safetensors.*, got F32"):
        MarEcg.from_pretrained(tmp_path / "model")


def repeated(text: str, rows: int) -> pa.DictionaryArray:
    """A column of a few bytes: one text, and its number for every row."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text]))


def packed_table(path: Path, kind: str) -> Path:
    """A table of kilobytes that takes 0.4 to 4 GB in memory."""
    long, ends = repeated("x" * 2000, 1_000_000), pa.array([0, 500_000, 1_000_000], pa.int32())
    text = repeated("1", 1_000_000)
    columns = {
        "texts": {"id": long, "code": text, "record": long},
        "lists": {"id": repeated("1", 2), "code": pa.ListArray.from_arrays(ends, long)},
        "points": {"id": repeated("1", 1_000_000), "a.b": long},
        "numbers": {"id": text, "rhythm": _vectors(1_000_000, 100)},
    }[kind]
    stated = kind == "numbers"  # the type of the vectors; texts are texts, not numbers of a dictionary
    pq.write_table(pa.table(columns), path, row_group_size=1 << 30, store_schema=stated)
    assert path.stat().st_size < 1 << 20
    return path


def _vectors(rows: int, width: int) -> pa.FixedSizeListArray:
    return pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(rows * width, np.float32)), width)


READERS = {
    "an index": ("texts", lambda path: index.read(path, ["id"])),
    "an index of lists": ("lists", index.read),
    "a column with a point in its name": ("points", index.read),
    "codes": ("texts", read_code_table),
    "embeddings": ("numbers", lambda path: list(blocks(path, ["id", "rhythm"]))),
    "names of embeddings": ("texts", lambda path: list(blocks(path, ["id"]))),
}
NIGHTLY = [pytest.param(name, marks=() if name == "codes" else pytest.mark.nightly) for name in READERS]


@pytest.mark.parametrize("name", NIGHTLY)
def test_a_table_that_takes_far_more_memory_than_its_file_is_refused(name, tmp_path):
    kind, read = READERS[name]
    path = packed_table(tmp_path / "t.parquet", kind)
    before = pa.total_allocated_bytes()
    with pytest.raises(
        InputError, match=r"t\.parquet: must unpack to at most 256 MB, got .* MB from .* bytes"
    ) as refused:
        read(path)
    assert "\n" not in str(refused.value)
    assert pa.total_allocated_bytes() - before < 1 << 29


def test_a_list_of_training_records_that_takes_far_more_memory_than_its_file_is_refused(tmp_path):
    about = {"window": "4700", "fs": "500"}
    names = repeated("x" * 2000, 1_000_000)
    table = pa.table(dict.fromkeys(trained_on.HASH_COLUMNS, names)).replace_schema_metadata(about)
    pq.write_table(table, tmp_path / trained_on.FILE)
    with pytest.raises(InputError, match="must unpack to"):
        trained_on.read(tmp_path)


@pytest.mark.nightly
def test_an_npz_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path):
    zeros = np.zeros((40_000_000, 1), np.float64)
    np.savez_compressed(tmp_path / "p.npz", ids=["a"], classes=["AF"], y=zeros, reference="encoder")
    with pytest.raises(InputError, match=r"p\.npz: must unpack to at most 256 MB, got 305 MB from .* bytes"):
        predictions.load(tmp_path / "p.npz")


def test_an_npz_that_is_damaged_is_refused(tmp_path):
    zeros = np.zeros((99, 1), np.float64)
    np.savez_compressed(tmp_path / "p.npz", ids=["a"], classes=["AF"], y=zeros, reference="encoder")
    content = bytearray((tmp_path / "p.npz").read_bytes())
    at = content.index(b"ids.npy") + len("ids.npy") + 20
    content[at : at + 20] = b"\xff" * 20
    (tmp_path / "p.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"p\.npz: can't be read"):
        predictions.load(tmp_path / "p.npz")
