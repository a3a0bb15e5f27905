"""Whether a corpus is one that a recipe can be trained on, and what must be said of one that can."""

import logging

from marecg.base.errors import CorpusError
from marecg.corpus import trained_on
from marecg.corpus.prepared import Corpus
from marecg.corpus.sampling import labels
from marecg.recipes import Config

logger = logging.getLogger(__name__)


def refuse_unfit(config: Config, corpus: Corpus) -> None:
    """Refuse a corpus that was prepared for other recipes, or has nothing to teach what this one teaches.

    Raises:
        CorpusError: its sampling rate or window is another; or no record has a label, so that the loss of
            an objective that learns from labels would be zero, and `predict` speak.
    """
    for name in ("fs", "window"):
        prepared, of_recipe = getattr(corpus.config, name), getattr(config.data, name)
        if prepared != of_recipe:
            problem = f"was prepared with {name} {prepared}, the recipe has data.{name} {of_recipe}"
            remedy = "Prepare it again, or change the recipe with --set"
            raise CorpusError(problem, where=corpus.folder, remedy=remedy)
    taught = [name for name in ("gscl", "mpct", "labels") if name in config.objectives]
    if taught and not labels(corpus, config.sampling.without_codes).any():
        what = f"for {' and '.join(taught)} to learn from"
        problem = f"no record has a code that is read, of a leaf concept, {what}"
        remedy = f"Add records with codes, or {' '.join(f'--set {name}=null' for name in taught)}"
        raise CorpusError(problem, where=corpus.folder, remedy=remedy)


def warn_of_leaks(corpus: Corpus) -> None:
    """Say once that probes of a run on it will carry a mark."""
    if counts := trained_on.evaluation_records(corpus):
        of_tasks = " and ".join(f"{count} records of {title}" for title, count in counts.items())
        logger.warning(
            "the corpus holds %s, on which encoders are probed: those probes will be marked as leaking. To "
            "keep PTB-XL's training folds alone, prepare it with --set ptbxl_folds=[1,2,3,4,5,6,7,8]",
            of_tasks,
        )
