"""What a run trains on: each rank's batches, and what supervises their records."""

import lightning

from ecg_ontology import Ontology
from marecg.corpus.batches import BatchStream
from marecg.corpus.prepared import Corpus
from marecg.corpus.sampling import draws
from marecg.corpus.supervision import CorpusSupervision
from marecg.ecg.batch import Batch
from marecg.recipes import Config


def supervise(config: Config, corpus: Corpus, ontology: Ontology) -> CorpusSupervision:
    """What supervises a corpus under a recipe's σ, rule and thresholds."""
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
    """Hands each rank its stream of micro-batches, once the ranks are known."""

    def __init__(self, corpus: Corpus, supervision: CorpusSupervision, config: Config, steps: int) -> None:
        super().__init__()
        self.corpus, self.supervision = corpus, supervision
        self.config, self.steps = config, steps

    def train_dataloader(self) -> BatchStream:
        """The stream of this rank."""
        assert self.trainer is not None
        train = self.config.train
        return BatchStream(
            self.corpus,
            self.supervision,
            train.batch_size,
            self.steps * train.accumulate,
            train.seed,
            self.trainer.global_rank,
            self.trainer.world_size,
            draws(self.corpus, self.config.sampling.seeded(train.seed)),
        )

    def on_before_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:
        """Pin what goes to a GPU."""
        assert self.trainer is not None
        return batch.pinned() if self.trainer.strategy.root_device.type == "cuda" else batch
