"""CPSC2018 is one task, in whichever of its two forms it lies on disk."""

import numpy as np
from scipy.io import savemat
from tests.marecg.made_records import make_ecg, make_record

from marecg.evaluate.tasks.cpsc2018 import cpsc2018_task


def test_both_published_forms_give_the_same_task(tmp_path):
    ours, challenge = tmp_path / "organisers", tmp_path / "cpsc_2018"
    labels = {"A0001": ("5", "2"), "A0002": ("1",), "A0003": ("9",)}
    codes = {"1": "426783006", "2": "164889003", "5": "59118001", "9": "164931005"}
    ours.mkdir()
    rows = [f"{name},{','.join((*each, '', '')[:3])}" for name, each in labels.items()]
    (ours / "REFERENCE.csv").write_text("\n".join(["Recording,First_label,Second_label,Third_label", *rows]))
    for seed, (name, each) in enumerate(labels.items()):
        x_CL = np.round(make_ecg(seed=seed), 3)
        savemat(ours / f"{name}.mat", {"ECG": {"sex": "Male", "age": 74, "data": x_CL}})
        make_record(challenge, name, x_CL, comments=[f"Dx: {','.join(codes[label] for label in each)}"])
    first, second = (cpsc2018_task(root) for root in (ours, challenge))
    assert first.sha256 == second.sha256
    assert first.y_MK.sum() == 4
    assert first.recordings.identities == second.recordings.identities
    for row in range(3):
        np.testing.assert_allclose(first.recordings.read(row), second.recordings.read(row), atol=1e-6)
