"""What every test may use: the real ECGs, where they are, and calm hypothesis settings."""

import gc
import logging
import math
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

# Two workers share two cores: a second thread in each would only wait for the other's.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import Phase, settings

settings.register_profile("project", deadline=None, derandomize=True, max_examples=15)
settings.register_profile("daily", deadline=None, max_examples=240, print_blob=True)
settings.register_profile(
    "unshrunk", settings.get_profile("project"), phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("project")

# What somebody's terminal is like would show in what is printed.
for _name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
    os.environ.pop(_name, None)


@pytest.fixture(scope="session")
def realdata() -> Path:
    """The folder of real ECGs that MARECG_REALDATA names; the test is skipped where it names none."""
    folder = os.environ.get("MARECG_REALDATA")
    if not folder:
        pytest.skip("MARECG_REALDATA is not set: no real ECGs to test on")
    path = Path(folder)
    assert path.is_dir(), f"MARECG_REALDATA names {path}, which isn't a folder"
    return path


# Modules and tests are objects that stay: the garbage collector needs neither to visit them nor to touch
# their pages in a forked process.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 20)  # by default, a seventh of the time of some tests is spent on collecting


def _seed(name: str) -> None:
    seed = zlib.crc32(name.encode())
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:  # what has not imported it shall not wait for it
        torch = sys.modules["torch"]
        torch.default_generator.manual_seed(seed)  # `torch.manual_seed` formats a stack, if CUDA isn't in use
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(seed)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> None:
    """What a fixture draws is the same whatever ran before it in this process."""
    _seed(f"{request.node.nodeid}/{fixturedef.argname}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """And what a test draws."""
    _seed(item.nodeid)


HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)


def pytest_sessionstart() -> None:
    """Started in the background, tests hear Ctrl-C as in a terminal."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _without_progress() -> Iterator[None]:
    """On a busy machine no log gets lines of progress."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("marecg.base.progress.PAUSE", math.inf)
        yield


_heard: list[Any] = []


def pytest_runtest_setup() -> None:
    """No test meets loggers that a quiet command silenced."""
    for name in ("marecg_cli", "marecg", "ecg_records", "ecg_ontology"):
        logging.getLogger(name).setLevel(logging.NOTSET)
    _heard[:] = [signal.getsignal(number) for number in HEARD]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """And no test leaves a handler that swallows a signal."""
    assert [signal.getsignal(number) for number in HEARD] == _heard


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[..., BaseHTTPRequestHandler]], str]]:
    """A function that starts a web server on this machine, for as long as the test runs; its address."""
    servers: list[tuple[ThreadingHTTPServer, Thread]] = []

    def start(handler: Callable[..., BaseHTTPRequestHandler]) -> str:
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()


QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"),
    *("--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--enable-logging=stderr",
)
"""No window, and nothing of Chromium's own that would ask for a network."""


@pytest.fixture(scope="session")
def browse(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """A function that opens a page in Chromium and returns what it prints; no process of it stays behind."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    # A distribution's stand-in that only says how to install it isn't a browser either.
    if (
        chromium is None
        or subprocess.run([chromium, "--version"], capture_output=True, check=False).returncode
    ):
        pytest.skip("no Chromium here: the page is not seen in a browser")

    def once(page: Path, options: tuple[str, ...]) -> tuple[int, str, str]:
        profile = tmp_path_factory.mktemp("browser")
        command = [chromium, *QUIET, f"--user-data-dir={profile}", *options, page.as_uri()]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, text=True, start_new_session=True, **streams) as process:
            try:
                printed, errors = process.communicate(timeout=100)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        return process.returncode, printed, errors

    def run(page: Path, *options: str) -> str:
        # On a busy machine Chromium now and then never ends, of itself: a new one with a new profile does.
        for _ in range(3):
            with suppress(subprocess.TimeoutExpired):
                code, printed, errors = once(page, options)
                break
        else:
            pytest.fail(f"three browsers in a row did not end with {options}")
        assert code == 0, errors
        assert "CONSOLE" not in errors, f"a script failed, or something was to be fetched: {errors}"
        return printed

    return run


def _use_one_thread() -> None:
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


# OpenMP's threads don't survive a fork: an operation of torch on several would wait for them for ever.
os.register_at_fork(after_in_child=_use_one_thread)


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Worker processes are copies of this one, which has torch already; elsewhere real ones begin as ever."""
    from joblib.externals.loky import get_reusable_executor

    fork = multiprocessing.get_context("fork")
    monkeypatch.setattr("joblib.externals.loky.process_executor.get_context", lambda: fork)
    yield
    get_reusable_executor(kill_workers=True).shutdown(wait=True)  # they hold what this test has patched


@pytest.fixture
def own_environment() -> Iterator[None]:
    """What a Dask cluster of this machine sets, such as a number of threads, isn't left to later tests."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def source(collections: Path, tmp_path: Path) -> Path:
    """A folder of two collections: five good records and three bad ones."""
    return shutil.copytree(collections, tmp_path / "records")


@pytest.fixture(scope="session")
def collections(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, which nobody may change."""
    from tests.made_records import make_ecg, make_record

    root = tmp_path_factory.mktemp("collections")
    for number in range(3):
        make_record(root / "georgia", f"E0000{number}", make_ecg(seed=number))
    make_record(root / "ptb" / "g1", "S0001", make_ecg(12, 1000, seed=3), fs=1000, comments=["Dx: 164865005"])
    make_record(root / "ptb" / "g1", "S0002", make_ecg(6, seed=4), comments=["Dx: 54329005,54329005"])
    flat = make_ecg(seed=5)
    flat[7:11] = 0
    make_record(root / "georgia", "E00003", flat)
    make_record(root / "georgia", "E00004", scale="0/mV")
    (make_record(root / "georgia", "E00005").parent / "E00005.mat").unlink()
    return root


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty place in fsspec's memory."""
    monkeypatch.setenv("ECG_RECORDS_CACHE", str(tmp_path / "cache"))
    return f"memory://{tmp_path.name}"
