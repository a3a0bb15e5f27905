"""A publisher of data sets on this machine."""

import pytest
from tests.marecg.corpus.publishing import Handler, Publisher

from marecg.corpus import download


@pytest.fixture
def publisher() -> Publisher:
    return Publisher()


@pytest.fixture
def base(publisher, serve, monkeypatch) -> str:
    """Its address; what comes from there is read in small pieces."""
    monkeypatch.setattr(download, "PIECE", 500)
    return f"{serve(type('Bound', (Handler,), {'publisher': publisher}))}/1.0/"
