"""What an error says to somebody who is stopped by it: one line with the place, the fault and the way on."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

import ecg_ontology
import marecg
from ecg_base import EcgError, UsageError
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.catalogue import dataset
from ecg_records.readers.wfdb_header import read_header
from ecg_records.storage.availability import blamed
from ecg_records.storage.lock import locked
from marecg.base.plugins import plugin
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepared import Corpus
from marecg.corpus.workers import workers
from marecg.errors import StoppedError
from marecg.evaluate.request import Request
from marecg.evaluate.scores import predictions
from marecg.recipes.overrides import by_name, with_settings
from marecg.train.lightning_module import Pretraining
from marecg.train.processes import lost_peers
from marecg.train.trackers import refuse_missing

ZEROS = np.zeros((1, 12, 5000), np.float32)


def raised(context, error):
    with context:
        raise error


def stopped():
    raise StoppedError(15, 40, where="runs/c3")


EXAMPLES = {
    "UsageError": {
        "unknown recipe 'smal'. Did you mean small?": lambda: by_name("smal"),
        "unknown recipe 'xxl'. marecg recipes lists them, or name your own as FILE.py:NAME.": lambda: by_name(
            "xxl"
        ),
        "unknown dataset 'georgie'. Did you mean georgia?": lambda: dataset("georgie"),
        "unknown readout 'beat'. Did you mean beats?": lambda: Request(readout="beat"),
        "unknown task 'ptbxl-supr'. Did you mean ptbxl-super?": lambda: plugin(
            "ptbxl-supr", {"ptbxl-super": 1}, int, "task"
        ),
        "unknown tracker 'tensorbord'. Did you mean tensorboard?": lambda: refuse_missing(["tensorbord"]),
        "unknown routing profile 'curatd'. Did you mean curated?": lambda: ecg_ontology.load(
            profile="curatd"
        ),
        "fs, the sampling rate in Hz, is required. For example fs=500.": lambda: marecg.embed(
            "marecg-small", ZEROS, fs=None
        ),
        "fs must be above 0 Hz, got 0": lambda: Layout(0.0),
    },
    "ConfigError": {
        "train.lr must be a number, not 'fast'": lambda: by_name("tiny", ["train.lr=fast"]),
        "train.max_steps must be a whole number, not 1.5": lambda: by_name("tiny", ["train.max_steps=1.5"]),
        "train.lr must be greater than 0, not -1": lambda: by_name("tiny", ["train.lr=-1"]),
        "clean.crop must be true or false, not 'on'": lambda: by_name("tiny", ["clean.crop=on"]),
        "rpeaks must be 'pantompkins1985' or 'neurokit', not 'mine'": lambda: with_settings(
            CorpusConfig, ["rpeaks=mine"]
        ),
    },
    "UnknownSettingError": {
        "--set train.max_step=2: unknown setting 'train.max_step'. Did you mean train.max_steps?": (
            lambda: by_name("tiny", ["train.max_step=2"])
        ),
    },
    "UnknownConceptError": {
        "no concept has the index, abbreviation or name 'Af'. Did you mean AF or AFL or LAFB?": lambda: (
            ecg_ontology.load().node("Af")
        ),
    },
    "InputError": {
        "run: has no probe of task labels by protocol strict. Run marecg probe on it first.": lambda: (
            predictions.load(Path("run/probe/labels-strict.npz"))
        ),
    },
    "SourceError": {
        "graph.ttl: doesn't exist. Give a folder of sources, .ttl": lambda: ecg_ontology.load("graph.ttl")
    },
    "CorpusError": {
        "no corpus at corpu. Run marecg prepare RECORDS --out corpu.": lambda: Corpus.open("corpu"),
        "empty: isn't a prepared corpus. To prepare its records, run marecg prepare empty --out CORPUS.": (
            lambda: Corpus.open("empty")
        ),
    },
    "SourceGoneError": {
        "gone: was removed or unmounted while its records were read. Restore it": lambda: raised(
            blamed(Path("gone"), Path("gone/a.hea")), OSError(5, "Input/output error")
        ),
    },
    "WorkerKilledError": {
        "corpus: a worker process was killed, perhaps because memory ran out. Run": lambda: raised(
            workers(1, 1, None, where="corpus"), TerminatedWorkerError()
        ),
    },
    "CheckpointError": {
        "marecg-smal: is not a folder. Did you mean marecg-small?": lambda: marecg.MarEcg.from_pretrained(
            "marecg-smal"
        ),
        "empty: has no config.json. Give a run": lambda: marecg.MarEcg.from_pretrained("empty"),
    },
    "RecordError": {"lone.hea: ": lambda: read_header(Path("lone.hea"), Path())},
    "OutputError": {
        "file/run: cannot be written": lambda: raised(locked(Path("file/run"), "trained"), OSError())
    },
    "DivergedError": {
        "step 7: 10 steps in a row had non-finite gradients. Check these": lambda: raised(
            blamed(Path(), Path()),
            Pretraining.diverged(SimpleNamespace(_last=None, non_finite_in_a_row=10), 7),
        ),
    },
    "PeerError": {
        "runs/c3: another process didn't respond for": lambda: raised(
            lost_peers(2, Path("runs/c3")), RuntimeError("connection closed by peer")
        ),
    },
    "StoppedError": {"runs/c3: stopped at step 40; run the same command to continue": stopped},
}
"""What is printed, or how it begins, by type of error, and a call that brings it about."""
CALLS = [(kind, text, call) for kind, calls in EXAMPLES.items() for text, call in calls.items()]


@pytest.mark.parametrize(("kind", "text", "call"), CALLS, ids=[text[:60] for _, text, _ in CALLS])
def test_an_error_says_in_one_line_where_what_and_how_to_go_on(kind, text, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("file").touch()
    Path("lone.hea").write_text("no header")
    with pytest.raises(EcgError) as caught:
        call()
    said = str(caught.value)
    assert type(caught.value).__name__ == kind
    assert said == text if text.endswith((".", "?", "'")) else said.startswith(text)
    assert "\n" not in said
    assert not re.search(r"[?.]\.$|\bNone\b|\bnan\b|Input should", said)


@pytest.mark.parametrize(
    ("package", "name", "near"),
    [(marecg, "embedd", "embed"), (marecg, "Marecg", "MarEcg"), (ecg_ontology, "laod", "load")],
)
def test_a_mistyped_name_of_a_package_is_answered_with_the_nearest(package, name, near):
    with pytest.raises(AttributeError, match=f"{name}.*Did you mean {near}\\?$"):
        getattr(package, name)


def test_a_name_like_no_other_is_answered_with_where_they_are_listed():
    with pytest.raises(AttributeError, match=r"dir\(marecg\)"):
        marecg.quaternion  # noqa: B018
    assert not hasattr(ecg_ontology, "__path_of_nobody__")


def test_a_question_ends_as_one():
    assert str(UsageError("x", remedy="Did you mean y?")) == "x. Did you mean y?"
    assert str(UsageError("x", remedy="Write y")) == "x. Write y."
