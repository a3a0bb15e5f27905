"""A file that `export` writes says what the model says, and runs without marecg."""

import json
import re
import resource
import sys
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from ecg_records.signal.leads import LEADS
from marecg.classify.calibration import Calibration
from marecg.classify.classifier import EcgClassifier
from marecg.embedding.embed import embed
from marecg.errors import CheckpointError, OutputError, UsageError
from marecg.model import windows
from marecg.model.config import ModelConfig
from marecg.model.mar_ecg import MarEcg
from marecg.model.windows import Recording, cut, tta_windows, window_starts
from marecg.recipes import small, tiny
from marecg.use import export as exporting
from marecg.use import exported_networks
from marecg.use.export import Export, export


def encoder_of(micro, beginnings: int) -> MarEcg:
    """A model with overlapping patches, as in the paper, and with small's amplitudes and beginnings."""
    torch.manual_seed(0)
    shape = {"stride": 25, "positions": 187, "amplitude": True, "phases": beginnings}
    return MarEcg(micro.model.model_copy(update=shape))


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.nightly)])
def run(request, micro, tmp_path_factory) -> Path:
    """Its beginnings are the program's length: those of one are traced in half of the time."""
    folder = tmp_path_factory.mktemp("export") / "run"
    encoder_of(micro, request.param).save_pretrained(folder / "model")
    return folder


@pytest.fixture(scope="module")
def onnx_file(run) -> Path:
    done = export(run, "onnx", run / "encoder.onnx")
    assert done.difference <= 1e-4
    assert done.records == 8
    return done.path


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_onnxruntime_says_of_real_numbers_of_records_what_embed_says(run, onnx_file, batch):
    x = np.random.default_rng(batch).normal(0, 0.3, (batch, 3, 2000)).astype(np.float32)
    expected = embed(MarEcg.from_pretrained(run), x, fs=500, leads=("II", "V1", "V5"))
    places = [LEADS.index(name) for name in ("II", "V1", "V5")]
    padded = np.zeros((batch, 12, 3500), np.float32)
    padded[:, places, :2000] = x
    absent = np.ones((batch, 12), bool)
    absent[:, places] = False
    session = onnxruntime.InferenceSession(onnx_file)
    inputs = {"x": padded, "n_valid": np.full(batch, 2000), "absent": absent}
    rhythm, patch = session.run(["rhythm", "patch"], inputs)
    np.testing.assert_allclose(rhythm, expected.rhythm, atol=1e-4)
    np.testing.assert_allclose(patch[:, : expected.patch.shape[1]], expected.patch, atol=1e-4)


@torch.no_grad()
def test_the_network_of_an_encoders_file_says_what_embed_says_whatever_the_beginnings(micro):
    """Whatever the format: what is written is this network, traced."""
    for beginnings in (1, 2, 3):
        network = exported_networks.ExportedEncoder(encoder_of(micro, beginnings)).eval()
        for inputs in network.trials():
            assert network.error(network.reference(inputs), network(*inputs)) < 1e-4


def test_an_onnx_file_is_valid_and_says_what_it_takes(run, onnx_file):
    model = onnx.load(onnx_file)
    onnx.checker.check_model(model)
    about = {each.key: each.value for each in model.metadata_props}
    assert about["leads"].split(",") == list(LEADS)
    assert (about["fs"], about["context"], about["unit"]) == ("500", "3500", "mV")
    encoder = MarEcg.from_pretrained(run)
    assert about["beginnings"] == str(encoder.config.phases)
    assert about["ontology"] == encoder.ontology.sha256
    assert about["opset"] == str(model.opset_import[0].version)


def test_no_exported_file_names_a_place_of_this_machine(run, onnx_file, program):
    with zipfile.ZipFile(program.path) as parts:
        content = b"".join(parts.read(name) for name in parts.namelist())
    for exported in (onnx_file.read_bytes(), content):
        for place in (Path(exporting.__file__).parents[2], Path(torch.__file__).parent, run.parent):
            assert str(place).encode() not in exported
        assert b"stack_trace" not in exported


def test_the_example_of_the_page_on_use_runs(onnx_file, monkeypatch):
    page = (Path(__file__).parents[3] / "docs" / "use.md").read_text(encoding="utf-8")
    (code,) = [each for each in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "onnx" in each]
    monkeypatch.chdir(onnx_file.parent)
    names: dict[str, np.ndarray] = {}
    exec(code, names)  # noqa: S102 (our own page)
    assert names["rhythm"].shape == (1, 16)


@pytest.mark.nightly
def test_a_torch_program_runs_for_any_number_of_records_and_carries_the_same_facts(run):
    done = export(run, "torch", run / "encoder.pt2")
    extra = {"marecg.json": ""}
    program = torch.export.load(done.path, extra_files=extra).module()
    assert json.loads(extra["marecg.json"]) == done.about
    model = MarEcg.from_pretrained(run)
    for batch in (1, 7):
        x, n_valid = torch.randn(batch, 12, 3500), torch.full((batch,), 3500)
        with torch.no_grad():
            rhythm, _ = program(x, n_valid, torch.zeros(batch, 12, dtype=torch.bool))
            torch.testing.assert_close(rhythm, model(x, n_valid).rhythm, atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", ["encoder", "classifier"])
def test_a_file_that_differs_is_not_written(kind, run, classifier_folder, monkeypatch, tmp_path):
    def falsified(frozen, path, _):
        path.write_bytes(b"a program")
        return (lambda inputs: tuple(_changed(each) for each in frozen(*inputs))), {}

    def _changed(each):
        return each if each.dtype == torch.bool else each + 2e-4

    monkeypatch.setitem(exporting.WRITERS, "torch", falsified)
    with pytest.raises(OutputError, match=r"agree with the model to 1e-04, but differs by 2\.\de-04"):
        export(run if kind == "encoder" else classifier_folder, "torch", tmp_path / "false.pt2")
    assert not list(tmp_path.iterdir())


@pytest.mark.nightly
def test_a_torch_program_onto_a_full_disk_is_one_clear_error(run):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(OutputError, match=r"full\.pt2: cannot be written \(File too large\)"):
            export(run, "torch", run / "full.pt2")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(run.glob("*full*"))


def test_another_ending_or_a_missing_extra_is_refused_before_any_work(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match=r"must end in \.onnx with --to onnx, got \.pt2"):
        export(tmp_path, "onnx", tmp_path / "encoder.pt2")
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "corpus.json").touch()
    with pytest.raises(CheckpointError, match=r"must be a model, got a prepared .*docs/corpus/datasets\.md"):
        export(tmp_path / "corpus", "onnx", tmp_path / "corpus.h5")
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(UsageError, match=r"export to ONNX needs onnxscript.*marecg\[onnx\]"):
        export(tmp_path, "onnx", tmp_path / "encoder.onnx")


def starts_of(length: int, config: ModelConfig) -> list[int]:
    """Starts of a record's windows, by a plain loop."""
    reach, context = max(length, config.context), config.context
    spread = np.linspace(0, reach - context, -(-reach // context))
    starts = []
    for start in sorted({int(at) // config.stride * config.stride for at in spread}):
        for phase in range(config.phases):
            by = phase * config.stride // config.phases
            if start + by + context > length >= start - by + context and start >= by:
                starts.append(start - by)
            else:
                starts.append(start + by if length - start - by >= config.patch else start)
    return starts


def test_the_windows_of_a_traced_record_are_those_that_the_encoder_is_shown(micro):
    """Whatever the length: as many looks, or each of them as much more often, at the same places."""
    for config in (micro.model.model_copy(update={"phases": 3}), tiny().model, small().model):
        context, patch = config.context, config.patch
        around = [n * context + by for n in range(6) for by in (-1, 0, 1, 2, 37, patch, patch + 1)]
        lengths = [n for n in [*around, *range(patch, 4 * context, 97)] if n >= patch]
        lengths.append(323_000)  # a start at which `numpy.linspace` rounds below a multiple of the stride
        row_U, start_U = window_starts(torch.tensor(lengths), max(lengths), config)
        for row, length in enumerate(lengths):
            whole = Recording(np.zeros((12, length), np.float32), np.zeros(12, bool))
            assert [window.start for window in tta_windows(whole, config)] == starts_of(length, config)
            expected, starts = Counter(starts_of(length, config)), Counter(start_U[row_U == row].tolist())
            times = starts.total() // expected.total()
            assert starts == {start: times * count for start, count in expected.items()}, length


@pytest.fixture(scope="module")
def labelled(micro) -> tuple[MarEcg, np.ndarray, np.ndarray]:
    """An encoder that reads windows from three beginnings, records longer than a window, and classes."""
    torch.manual_seed(0)
    model = MarEcg(micro.model.model_copy(update={"phases": 3, "modulation": True}))
    x = np.random.default_rng(0).normal(0, 0.3, (24, 12, model.config.context + 900)).astype(np.float32)
    y = np.arange(24) % 2
    x[y == 1] *= 1.5
    return model, x, y


@pytest.fixture(scope="module")
def several(labelled) -> EcgClassifier:
    """A classifier of two classes that vary, by knots and by a temperature, and of two that are constant."""
    model, x, y = labelled
    with pytest.warns(UserWarning, match="(no|every) record has class"):
        fitted = EcgClassifier(model, fs=500, seed=1).fit(x, np.stack([y, 1 - y, 0 * y, 0 * y + 1], 1))
    return recalibrated(fitted, x)


@pytest.fixture(scope="module")
def exclusive(labelled) -> EcgClassifier:
    """A classifier of which a record has one of two classes."""
    model, x, y = labelled
    return recalibrated(EcgClassifier(model, fs=500, seed=1).fit(x, y), x)


def recalibrated(fitted: EcgClassifier, x: np.ndarray) -> EcgClassifier:
    """The first class is calibrated by knots, the second by a temperature."""
    logits = fitted.logits_of([Recording(each, np.zeros(12, bool)) for each in x])
    middle = float(np.median(logits[:, 0]))
    steps = (middle - 2, middle - 0.1, middle + 0.1, middle + 2)
    knots = Calibration(kind="isotonic", knots=steps, values=(0.01, 0.2, 0.2, 0.99))
    fitted.calibrations_[:2] = [knots, Calibration(kind="temperature", slope=0.7, shift=0.2)]
    fitted.thresholds_[:2] = np.array([0.2, 0.5])
    return fitted


@pytest.fixture(scope="module")
def classifier_folder(several, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("export-classifier") / "clf"
    several.save(folder)
    return folder


@pytest.fixture(scope="module")
def program(classifier_folder, labelled) -> Export:
    """The classifier's file, compared on records of several lengths."""
    records = shortened(labelled[1])[::4]
    return export(classifier_folder, "torch", classifier_folder.parent / "clf.pt2", records)


def shortened(x: np.ndarray) -> list[Recording]:
    return [Recording(each[:, : 2000 + 80 * n], np.zeros(12, bool)) for n, each in enumerate(x)]


def inputs_of(x: np.ndarray) -> dict[str, np.ndarray]:
    return {"x": x, "n_valid": np.full(len(x), x.shape[2]), "absent": np.zeros((len(x), 12), bool)}


def assert_called_as_by(fitted: EcgClassifier, x: np.ndarray, probability: np.ndarray, called: np.ndarray):
    expected = fitted.predict_proba(x)
    np.testing.assert_allclose(probability, expected, atol=1e-4)
    np.testing.assert_array_equal(called, fitted.calls(expected))
    assert 0 < called[:, 0].sum() < len(x)


@pytest.mark.parametrize("kind", ["several", "exclusive"])
@torch.no_grad()
def test_the_network_of_a_classifiers_file_calls_whole_records_as_the_classifier_does(
    kind, labelled, request
):
    """Whatever the format: what is written is this network, traced."""
    _, x, _ = labelled
    fitted = request.getfixturevalue(kind)
    network = exported_networks.ExportedClassifier(fitted).eval()
    _, probability, called = network(*map(torch.from_numpy, inputs_of(x).values()))
    assert_called_as_by(fitted, x, probability.numpy(), called.numpy())


def test_a_program_of_a_classifier_calls_whole_records_as_the_classifier_does(program, several, labelled):
    _, x, _ = labelled
    assert program.difference <= 1e-4
    assert (program.real.records, program.real.changed) == (6, 0)
    extra = {"marecg.json": ""}
    run_file = torch.export.load(program.path, extra_files=extra).module()
    assert json.loads(extra["marecg.json"]) == program.about
    for records in (x, x[:5]):
        _, probability, called = run_file(*map(torch.from_numpy, inputs_of(records).values()))
        assert_called_as_by(several, records, probability.numpy(), called.numpy())
        assert probability[:, 2:].unique(dim=0).tolist() == [[0.0, 1.0]]
        assert called[:, 2:].unique(dim=0).tolist() == [[False, True]]


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["several", "exclusive"])
def test_the_onnx_file_of_a_classifier_calls_whole_records_as_the_classifier_does(
    kind, labelled, tmp_path, request
):
    _, x, _ = labelled
    fitted = request.getfixturevalue(kind)
    fitted.save(tmp_path / "clf")
    done = export(tmp_path / "clf", "onnx", tmp_path / "clf.onnx", shortened(x))
    assert done.difference <= 1e-4
    assert (done.real.records, done.real.changed) == (24, 0)
    session = onnxruntime.InferenceSession(done.path)
    about = session.get_modelmeta().custom_metadata_map
    classes = json.loads(about["classes"])
    assert (classes, json.loads(about["exclusive"])) == (fitted.classes_.tolist(), kind == "exclusive")
    probability, called = session.run(["probability", "called"], inputs_of(x))
    assert_called_as_by(fitted, x, probability, called)


@pytest.mark.nightly
def test_a_classifiers_file_that_reads_one_window_alone_is_not_written(
    classifier_folder, tmp_path, monkeypatch
):
    """What `export` did before: the first window, from one beginning."""

    def at_zero(*given):
        row_U, start_U = window_starts(*given)
        return row_U, torch.zeros_like(start_U)

    def first(*given):
        with monkeypatch.context() as patch:
            patch.setattr(windows, "window_starts", at_zero)
            return cut(*given)

    monkeypatch.setattr(exported_networks, "cut", first)
    with pytest.raises(OutputError, match="agree with the model to 1e-04, but differs"):
        export(classifier_folder, "torch", tmp_path / "clf.pt2")
    assert not list(tmp_path.glob("*.pt2"))
