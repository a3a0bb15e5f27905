"""What every test may use: the real ECGs, where they are, and calm hypothesis settings."""

import os
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

# Two workers share two cores: a second thread in each would only wait for the other's.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

settings.register_profile("project", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("project")


@pytest.fixture(scope="session")
def realdata() -> Path:
    """The folder of real ECGs that MARECG_REALDATA names; the test is skipped where it names none."""
    folder = os.environ.get("MARECG_REALDATA")
    if not folder:
        pytest.skip("MARECG_REALDATA is not set: no real ECGs to test on")
    path = Path(folder)
    assert path.is_dir(), f"MARECG_REALDATA names {path}, which is no folder"
    return path


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
