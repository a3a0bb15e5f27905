"""What `marecg train` does: corpus and ontology in, run folder out.

A run folder holds config.json, ontology.json, trained_on.parquet, metrics.csv, checkpoints/ and, at the end,
model/.
"""

import json
import logging
import math
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import lightning
import torch
from lightning.pytorch.utilities import rank_zero_only

import ecg_ontology
from ecg_ontology.files import replacing
from marecg.config import LEADS, Config
from marecg.corpus import trained_on
from marecg.corpus.batches import Batch, BatchStream
from marecg.corpus.prepared import Corpus
from marecg.corpus.supervision import Supervision
from marecg.errors import CheckpointError, CorpusError, UsageError
from marecg.model.card import Provenance
from marecg.train.callbacks import Checkpoints, Metrics, Monitors, Progress, checkpoints
from marecg.train.concept_text import shipped
from marecg.train.lightning_module import Pretraining
from marecg.train.network import Network
from marecg.use.embed import best_device

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Run:
    """What a finished run did."""

    folder: Path
    steps: int
    skipped_steps: int


class CorpusData(lightning.LightningDataModule):
    """Hands each rank its stream of micro-batches, once the ranks are known."""

    def __init__(self, corpus: Corpus, supervision: Supervision, config: Config, steps: int) -> None:
        super().__init__()
        self.corpus = corpus
        self.supervision = supervision
        self.config = config
        self.steps = steps

    def train_dataloader(self) -> BatchStream:
        """The stream of this rank."""
        assert self.trainer is not None
        return BatchStream(
            self.corpus,
            self.supervision,
            self.config.train.batch_size,
            self.steps * self.config.train.accumulate,
            self.config.train.seed,
            self.trainer.global_rank,
            self.trainer.world_size,
        )

    def on_before_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:
        """Pin what goes to a GPU."""
        assert self.trainer is not None
        return batch.pinned() if self.trainer.strategy.root_device.type == "cuda" else batch


def train(config: Config, data: str | Path, out: str | Path, *, resume: bool = False) -> Run:
    """Pretrain by a recipe on a prepared corpus.

    Args:
        config: the recipe.
        data: a folder that `marecg prepare` wrote.
        out: the run folder; it must not hold a run already, unless that is to be resumed.
        resume: go on from the newest checkpoint in `out`; every later step draws what the unbroken run
            would have drawn.

    Raises:
        CorpusError: `data` is no prepared corpus, or one of another sampling rate, window or enumeration.
        CheckpointError: the run to resume follows another enumeration.
        UsageError: `out` holds a run and `resume` is off, or the other way round, or the recipes differ.
        OutputError: `out` can't be written.
    """
    folder = Path(out)
    corpus = Corpus.open(data)
    ontology = corpus.ontology()
    for name in ("fs", "window"):
        prepared, wanted = getattr(corpus.config, name), getattr(config.data, name)
        if prepared != wanted:
            raise CorpusError(
                f"was prepared with {name} {prepared}, the recipe has data.{name} {wanted}",
                where=data,
                remedy="Prepare it again, or change the recipe with --set",
            )
    if getattr(rank_zero_only, "rank", 0) == 0:
        identity = {
            "config": config.model_dump(mode="json"),
            "leads": list(LEADS),
            "ontology": ontology.sha256,
        }
        _claim(folder, identity, ontology, resume=resume)
        trained_on.write(corpus, folder)
        _warn_of_leaks(corpus)

    metrics = Metrics(folder / "metrics.csv", len(corpus) / config.train.batch_size)
    trainer = _trainer(config, folder, metrics)
    steps = _total_steps(config, len(corpus), trainer.num_devices * trainer.num_nodes)
    module = Pretraining(config, _network(config, ontology), steps)
    newest = checkpoints(folder / "checkpoints")[-1:] if resume else []
    began = time.monotonic()
    with warnings.catch_warnings():
        # Lightning advises on loggers and workers, and calls what torch deprecates: no user's concern.
        warnings.filterwarnings("ignore", module="lightning")
        trainer.fit(
            module,
            datamodule=CorpusData(corpus, Supervision.of(corpus, ontology, config), config, steps),
            ckpt_path=newest[0] if newest else None,
            weights_only=True,
        )
    if trainer.is_global_zero:
        model = module.network.export()
        model.ontology = ontology
        model.provenance = Provenance(
            recipe=config.name,
            steps=steps,
            records=len(corpus),
            sources=dict(Counter(corpus.sources)),
            seconds=time.monotonic() - began,
            resumed=bool(newest),
            devices=f"{trainer.world_size} × {trainer.strategy.root_device.type}",
        )
        model.save_pretrained(folder / "model")
    return Run(folder, steps, module.skipped_steps)


def _warn_of_leaks(corpus: Corpus) -> None:
    """Say once that probes of this run will carry a mark."""
    found = trained_on.evaluation_records(corpus)
    if found:
        held = " and ".join(f"{count} records of {title}" for title, count in found.items())
        logger.warning(
            "the corpus holds %s, on which encoders are probed: those probes will be marked as leaking. To "
            "keep PTB-XL's training folds alone, prepare it with --set ptbxl_folds=[1,2,3,4,5,6,7,8]",
            held,
        )


def _network(config: Config, ontology: ecg_ontology.Ontology) -> Network:
    """The network as the seed initialises it, leaving torch's own generator as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.train.seed)
        network = Network(config, torch.tensor(ontology.a_hat), shipped(ontology) if config.mpct else None)
    network.model.encoder.checkpoint_activations = config.train.checkpoint_activations
    if config.train.compile:
        network.compile_encoders()
    return network


def _trainer(config: Config, folder: Path, metrics: Metrics) -> lightning.Trainer:
    train = config.train
    bf16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    automatic: Literal["bf16-mixed", "32-true"] = "bf16-mixed" if bf16 else "32-true"
    return lightning.Trainer(
        max_epochs=1,  # the stream lays the epochs end to end
        accelerator=best_device().type,  # Lightning's own choice may be one that no test has seen
        devices=train.devices,
        num_nodes=train.nodes,
        precision=automatic if train.precision == "auto" else train.precision,
        accumulate_grad_batches=train.accumulate,
        callbacks=[
            metrics,
            Monitors(folder / "monitors.csv", train.monitor_every),
            Progress(metrics),
            Checkpoints(folder / "checkpoints", train.checkpoint_every),
        ],
        logger=False,
        enable_model_summary=False,
        enable_progress_bar=False,
        use_distributed_sampler=False,
        default_root_dir=folder,
    )


def _total_steps(config: Config, records: int, world: int) -> int:
    """Optimiser steps of the run on `world` devices."""
    train = config.train
    steps = math.ceil(train.max_epochs * records / (train.batch_size * train.accumulate * world))
    return min(steps, train.max_steps or steps)


def _claim(folder: Path, identity: dict[str, Any], ontology: ecg_ontology.Ontology, *, resume: bool) -> None:
    """Make the run folder ours, or make sure that the run in it is the one to go on with."""
    described = folder / "config.json"
    if not described.exists():
        if resume:
            raise UsageError("holds no run to resume", where=folder, remedy="Leave --resume away")
        with replacing(folder / "ontology.json") as temporary:
            ontology.save(temporary)
        with replacing(described) as temporary:
            temporary.write_text(json.dumps(identity, indent=2), encoding="utf-8")
        return
    if not resume:
        raise UsageError("holds a run already", where=folder, remedy="Add --resume, or name another folder")
    before = json.loads(described.read_text(encoding="utf-8"))
    if before["ontology"] != identity["ontology"]:
        difference = ecg_ontology.load(folder / "ontology.json").difference(ontology)
        raise CheckpointError(
            f"follows another enumeration: {difference}",
            where=folder,
            remedy="Install the ecg-ontology that it was trained with",
        )
    changed = sorted(dict(_flat(before)).items() ^ dict(_flat(json.loads(json.dumps(identity)))).items())
    if changed:
        raise UsageError(
            f"was started with another {changed[0][0]}",
            where=folder,
            remedy="Resume it with the same settings",
        )


def _flat(tree: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if not isinstance(tree, dict):
        yield key, json.dumps(tree)
        return
    for name, value in tree.items():
        yield from _flat(value, f"{key}.{name}" if key else name)
