"""Whatever a reader notes reaches the user of each command, and the index."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.cli.calls import invoke
from tests.made_records import make_ecg, make_record


def limbs_agree() -> np.ndarray:
    x_CL = make_ecg()
    x_CL[2:6] = x_CL[1] - x_CL[0], -(x_CL[0] + x_CL[1]) / 2, x_CL[0] - x_CL[1] / 2, x_CL[1] - x_CL[0] / 2
    return x_CL


def wrong_checksum(folder):
    header = make_record(folder, x_CL=limbs_agree())
    header.write_text(header.read_text().replace(" 0 V6", "1 0 V6"))
    return "checksum differs in V6"


def further_signal(folder):
    x_CL = np.concatenate([limbs_agree(), np.ones((1, 5000))])
    leads = ["I", "II", "III", "aVR", "aVL", "aVF", *(f"V{number}" for number in range(1, 7)), "RESP"]
    header = make_record(folder, x_CL=x_CL, leads=leads)
    lines = header.read_text().split("\n")
    lines[13] = lines[13].replace("1000/mV", "1000/pm")
    header.write_text("\n".join(lines))
    return "not used: RESP"


def contradiction(folder):
    x_CL = limbs_agree()
    x_CL[0] *= -1
    make_record(folder, x_CL=x_CL)
    return "limb leads contradict one another"


@pytest.mark.parametrize("spoil", [wrong_checksum, further_signal, contradiction])
def test_every_command_reports_what_a_reader_notes(place, tmp_path, spoil):
    text = spoil(tmp_path / "in")
    header = tmp_path / "in" / "A0001.hea"
    for command in (
        ("predict", place / "run", header),
        ("embed", place / "run", header, "--out", tmp_path / "e.npz"),
        ("report", place / "run", header, "--out", tmp_path / "page.html"),
    ):
        code, _, err = invoke(*command)
        assert code == 0, err
        assert text in err, command
    assert text in (tmp_path / "page.html").read_text()
    code, out, err = invoke("prepare", tmp_path / "in", "--out", tmp_path / "corpus")
    assert code == 0
    [notes] = pq.read_table(tmp_path / "corpus" / "index.parquet").column("notes").to_pylist()
    assert any(text in note for note in notes)
    kind = {"checksum": "checksum", "not used": "unused", "limb leads": "contradict"}
    [noted] = [kind[head] for head in kind if text.startswith(head)]
    assert json.loads((tmp_path / "corpus" / "report.json").read_text())["noted"] == {noted: 1}
    assert f"{noted}: 1 records" in out + err


def test_a_good_file_is_read_without_a_word(place, header):
    code, _, err = invoke("predict", place / "run", header)
    assert (code, "check: " in err) == (0, False)
