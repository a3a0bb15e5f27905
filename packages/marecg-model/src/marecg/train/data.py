"""Training data: checks of the corpus, a stream of batches per process, and supervision of records.

The supervision of a record consists of its labels, soft targets and rhythm statistics.
"""

import logging

import lightning

from ecg_ontology import Ontology
from marecg.base.progress import Progress, shown
from marecg.corpus import trained_on
from marecg.corpus.audit import refuse_damaged
from marecg.corpus.batches import BatchStream
from marecg.corpus.prepared import Corpus
from marecg.corpus.sampling import draws, labels
from marecg.corpus.supervision import CorpusSupervision
from marecg.errors import CorpusError
from marecg.model.batch import Batch
from marecg.recipes import Config

logger = logging.getLogger(__name__)


def supervise(config: Config, corpus: Corpus, ontology: Ontology) -> CorpusSupervision:
    """Return the supervision of a corpus: its records' labels, soft targets and rhythm statistics.

    The settings of the recipe determine the soft targets and the thresholds of the rhythm.
    """
    model = config.model
    if config.clean.crop:
        model = model.model_copy(update={"context": config.data.window})
    return CorpusSupervision(
        corpus,
        ontology,
        model,
        config.gscl,
        config.msps,
        without_codes=config.sampling.without_codes,
        codes_permuted=config.sampling.seeded(config.train.seed).codes_permuted,
        standardised=config.msps is not None and config.msps.z_score == "corpus",
    )


class CorpusData(lightning.LightningDataModule):
    """Lightning data module, which gives each process its own stream of micro-batches."""

    def __init__(self, corpus: Corpus, supervision: CorpusSupervision, config: Config, steps: int) -> None:
        super().__init__()
        self.corpus, self.supervision = corpus, supervision
        self.config, self.steps = config, steps

    def train_dataloader(self) -> BatchStream:
        """Return the stream of micro-batches for this process."""
        assert self.trainer is not None
        train = self.config.train
        size, per_step = train.micro_batches(self.trainer.world_size)
        return BatchStream(
            self.corpus,
            self.supervision,
            size,
            self.steps * per_step,
            train.seed,
            self.trainer.global_rank,
            self.trainer.world_size,
            draws(self.corpus, self.config.sampling.seeded(train.seed)),
        )

    def on_before_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:
        """Move a batch to page-locked memory if the device is a GPU."""
        assert self.trainer is not None
        return batch.pinned() if self.trainer.strategy.root_device.type == "cuda" else batch


def refuse_unfit(config: Config, corpus: Corpus) -> None:
    """Raise `CorpusError` if a corpus doesn't fit a recipe.

    A corpus must have the recipe's sampling rate and window, and labels if an objective needs them. Without
    labels, the loss of such an objective would be zero, and `predict` would still return results.
    """
    for name in ("fs", "window"):
        prepared, of_recipe = getattr(corpus.config, name), getattr(config.data, name)
        if prepared != of_recipe:
            problem = f"must have the recipe's data.{name} {of_recipe}, got {prepared}"
            remedy = f"Prepare it again, or change the recipe with --set data.{name}={prepared}"
            raise CorpusError(problem, where=corpus.folder, remedy=remedy)
    with_codes = [name for name, objective in config.objectives.items() if objective.needs_codes]
    if with_codes and not labels(corpus, config.sampling.without_codes).any():
        problem = f"no record has a code of a leaf concept, as required by {' and '.join(with_codes)}"
        removed = " ".join(f"--set {name}=null" for name in with_codes)
        remedy = f"Add records with codes, or remove the objective: {removed}"
        raise CorpusError(problem, where=corpus.folder, remedy=remedy)


def check_corpus(config: Config, corpus: Corpus, progress: Progress = shown) -> None:
    """Check the signals of a corpus, as `audit.refuse_damaged` does.

    Logs a warning if the corpus and the recipe differ in `rpeaks_lead` (the leads in which R-peaks are
    found), or if records belong to datasets with published tasks. Raises `CorpusError` if a signal is
    damaged.
    """
    refuse_damaged(corpus, progress)
    prepared, of_recipe = corpus.config.rpeaks_lead, config.data.rpeaks_lead
    if prepared != of_recipe:
        logger.warning(
            "the corpus was prepared with rpeaks_lead %s, but the recipe has data.rpeaks_lead %s. The corpus "
            "determines the targets of rate and rhythm. To change them, prepare it with --set rpeaks_lead=%s",
            *(prepared, of_recipe, of_recipe),
        )
    if counts := trained_on.evaluation_records(corpus):
        of_tasks = " and ".join(f"{count} records of {title}" for title, count in counts.items())
        logger.warning(
            "the corpus contains %s. Probes on these datasets will be marked as leaking. To use only the "
            "training folds of PTB-XL, prepare the corpus with --set ptbxl_folds=[1,2,3,4,5,6,7,8]",
            of_tasks,
        )
