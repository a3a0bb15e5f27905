"""The prepared corpora of marecg's tests."""

from tests.marecg import conftest as of_marecg

corpus_folder, forked_workers, source = of_marecg.corpus_folder, of_marecg.forked_workers, of_marecg.source
