"""Training data: checks of the corpus, batches per rank, and supervision of records."""

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
    """Return a corpus' supervision under a recipe's settings: σ, anchor rule and rhythm thresholds."""
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
    """Data module that gives each rank its stream of micro-batches."""

    def __init__(self, corpus: Corpus, supervision: CorpusSupervision, config: Config, steps: int) -> None:
        super().__init__()
        self.corpus, self.supervision = corpus, supervision
        self.config, self.steps = config, steps

    def train_dataloader(self) -> BatchStream:
        """Return the stream of micro-batches for this rank."""
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
        """Pin a batch in memory if the device is a GPU."""
        assert self.trainer is not None
        return batch.pinned() if self.trainer.strategy.root_device.type == "cuda" else batch


def refuse_unfit(config: Config, corpus: Corpus) -> None:
    """Check that a corpus has the recipe's rate and window, and the labels that its objectives need.

    Without labels, the loss of such an objective would be zero, and `predict` would still return results.
    Raises `CorpusError`.
    """
    for name in ("fs", "window"):
        prepared, of_recipe = getattr(corpus.config, name), getattr(config.data, name)
        if prepared != of_recipe:
            problem = f"was prepared with {name} {prepared}, the recipe has data.{name} {of_recipe}"
            remedy = "Prepare it again, or change the recipe with --set"
            raise CorpusError(problem, where=corpus.folder, remedy=remedy)
    taught = [name for name, objective in config.objectives.items() if objective.needs_codes]
    if taught and not labels(corpus, config.sampling.without_codes).any():
        what = f"for {' and '.join(taught)} to learn from"
        problem = f"no record has a code that is read, of a leaf concept, {what}"
        remedy = f"Add records with codes, or {' '.join(f'--set {name}=null' for name in taught)}"
        raise CorpusError(problem, where=corpus.folder, remedy=remedy)


def check_corpus(config: Config, corpus: Corpus, progress: Progress = shown) -> None:
    """Check the signals of a corpus, unless they were checked before. Raises `CorpusError` if it is damaged.

    Warn if R-peaks weren't found by the recipe's method, or records belong to evaluation sets.
    """
    refuse_damaged(corpus, progress)
    prepared, of_recipe = corpus.config.rpeaks_lead, config.data.rpeaks_lead
    if prepared != of_recipe:
        logger.warning(
            "the corpus was prepared with rpeaks_lead %s, the recipe has data.rpeaks_lead %s: its targets of "
            "rate and rhythm follow the corpus. To have the recipe's, prepare it with --set rpeaks_lead=%s",
            *(prepared, of_recipe, of_recipe),
        )
    if counts := trained_on.evaluation_records(corpus):
        of_tasks = " and ".join(f"{count} records of {title}" for title, count in counts.items())
        logger.warning(
            "the corpus holds %s, on which encoders are probed: those probes will be marked as leaking. To "
            "keep PTB-XL's training folds alone, prepare it with --set ptbxl_folds=[1,2,3,4,5,6,7,8]",
            of_tasks,
        )
