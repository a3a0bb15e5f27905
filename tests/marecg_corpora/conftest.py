"""The prepared corpora of marecg's tests, and a publisher of data sets on this machine."""

import pytest
from tests.marecg import conftest as of_marecg
from tests.marecg_corpora.publishing import Handler, Publisher

from marecg_corpora import download

corpus_folder, forked_workers, source = of_marecg.corpus_folder, of_marecg.forked_workers, of_marecg.source


@pytest.fixture
def publisher() -> Publisher:
    return Publisher()


@pytest.fixture
def base(publisher, serve, monkeypatch) -> str:
    """Its address; what comes from there is read in small pieces."""
    monkeypatch.setattr(download, "PIECE", 500)
    return f"{serve(type('Bound', (Handler,), {'publisher': publisher}))}/1.0/"
