"""A publisher of data sets on this machine."""

from collections.abc import Callable

import pytest
from tests.marecg.read.publishing import Handler, Publisher

from marecg.read import download


@pytest.fixture
def publisher() -> Publisher:
    return Publisher()


@pytest.fixture
def base(publisher: Publisher, serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Its address; what comes from there is read in small pieces."""
    monkeypatch.setattr(download, "PIECE", 500)
    return f"{serve(type('Bound', (Handler,), {'publisher': publisher}))}/1.0/"
