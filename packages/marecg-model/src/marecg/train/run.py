"""Training of a model on a corpus (`marecg train`).

A run folder holds config.json, ontology.json, trained_on.parquet, metrics.csv, monitors.csv, checkpoints/
with checkpoints.sha256, the files of trackers and, after the last step, model/.
"""

import logging
import math
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import lightning
import torch
from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities import rank_zero_only
from lightning.pytorch.utilities.exceptions import SIGTERMException
from torch import Tensor

import ecg_ontology
from ecg_records.storage.lock import locked
from marecg.base.device import best_device
from marecg.base.memory import keep_freed
from marecg.base.progress import Progress, shown
from marecg.corpus.prepared import Corpus
from marecg.errors import StoppedError, UsageError
from marecg.model.card import Provenance
from marecg.nn.collapse import COLLAPSED
from marecg.objectives.concept_text import TEXTS
from marecg.recipes import Config
from marecg.train.callbacks import Metrics
from marecg.train.checkpoints import Checkpoints, newest, step_of
from marecg.train.data import CorpusData, check_corpus, refuse_unfit, supervise
from marecg.train.lightning_module import Pretraining, lr_factor
from marecg.train.network import Network
from marecg.train.preemption import Preemption
from marecg.train.processes import Processes, lost_peers, processes_of, shared_out
from marecg.train.provenance import provenance, united
from marecg.train.run_folder import claim, note_length
from marecg.train.trackers import opened, refuse_missing
from marecg.train.warm_start import load_start

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Run:
    """Results of a finished run."""

    folder: Path
    steps: int
    skipped_steps: int


def train(
    config: Config,
    data: str | Path,
    out: str | Path,
    *,
    start: str | Path | None = None,
    resume: bool | None = None,
    extend: bool = False,
    progress: Progress = shown,
    callbacks: Sequence[lightning.Callback] = (),
    loggers: Sequence[str | Logger] = (),
) -> Run:
    """Train a model, or resume an interrupted run from its newest whole checkpoint.

    Resuming is exact: after a checkpoint, the run makes the same random draws as an uninterrupted run, even
    on another number of processes. On SIGTERM, SIGUSR1, SIGXCPU or SIGINT, training stops after the current
    step and saves a checkpoint.

    Args:
        config: Recipe to train.
        data: Folder written by `marecg prepare`.
        out: Run folder, either new or started by the same call.
        start: Initial weights, in any form accepted by `MarEcg.from_pretrained`. Random if None. The recipe
            must have the model of the weights (`warm_start.recipe_for`). A run with a checkpoint can be
            resumed without them.
        resume: If True, require an existing run. If False, require that there is none.
        extend: Allow the run in `out` to get another `train.max_steps` or `train.max_epochs`. From its newest
            checkpoint on, learning rate and ramps follow the schedule of a run of the new length.
        callbacks: Lightning callbacks to run after the built-in ones. Their state in a checkpoint must
            consist of tensors and plain values, because nothing else can be read back.
        loggers: `tensorboard`, `wandb` or `mlflow`, with files in the run folder, or Lightning loggers. See
            `marecg.train.trackers`. metrics.csv is always written.

    Raises:
        CorpusError: If `data` isn't a corpus, is damaged, or doesn't fit the recipe (`data.refuse_unfit`), or
            if another process is training in `out`.
        CheckpointError: If the run in `out` is damaged, or has another enumeration or corpus, or if the
            weights can't be loaded, or have another enumeration.
        ConfigError: If the recipe doesn't fit the corpus' graph or the weights, or if its global batch can't
            be divided among the devices.
        UsageError: If the settings contradict torchrun or SLURM (`processes.processes_of`). If the run in
            `out` has other settings or starting weights, or `resume` forbids it. If MPCT has no sentence
            embeddings and can't make them here. If a tracker is not installed.
        OutputError: If `out` can't be written, or a tracker can't be opened.
        DivergedError: If gradients weren't finite ten steps in a row, or in the last step.
        StoppedError: If a signal ended the run before its last step.
        PeerError: If another process of the run didn't respond for ten minutes, or ended.
    """
    refuse_missing(loggers)
    processes = processes_of(config.train)
    folder = Path(out)
    corpus = Corpus.open(data)
    ontology = corpus.ontology()
    given = None if start is None else load_start(start, ontology)
    config = config.of_ontology(ontology).derived(train=shared_out(config.train, processes.number))
    weights = None if given is None else given.weights(config)
    refuse_unfit(config, corpus)
    preemption, origin = Preemption(), None
    with ExitStack() as stack:
        if getattr(rank_zero_only, "rank", 0) == 0:
            stack.enter_context(locked(folder, "trained in"))
            origin = claim(
                folder,
                config,
                corpus,
                ontology,
                given,
                processes=processes.number,
                resume=resume,
                extend=extend,
            )
            check_corpus(config, corpus, progress)
            if given is not None:
                given.warn(config)
        stack.enter_context(preemption.listening())
        settings = config.model_dump(mode="json")
        keep_freed()
        steps = total_steps(config, len(corpus))
        module = Pretraining(config, _network(config, ontology, corpus.folder / TEXTS, weights), steps)
        checkpoint = newest(folder, module)
        at = step_of(checkpoint) if checkpoint else 0
        if checkpoint is None and origin is not None and given is None:
            problem = f"was begun from {origin.name}, and has no checkpoint yet"
            raise UsageError(problem, where=folder, remedy="Name these weights again")
        followers = stack.enter_context(opened(loggers, folder, settings, at))
        metrics = Metrics(folder, len(corpus), stack.enter_context(progress("steps")))
        checkpoints = Checkpoints(folder, config.train.checkpoint_every, preemption)
        trainer = _trainer(config, folder, processes, [metrics, *callbacks], checkpoints, followers)
        if extend and steps <= at:
            problem = f"has taken {at} steps, and is asked for {steps}"
            raise UsageError(problem, where=folder, remedy="Raise train.max_steps or train.max_epochs")
        if trainer.is_global_zero:
            _tell_length(config, folder, steps, at if extend else None)
            if extend:
                note_length(folder, config)
        began = time.monotonic()
        _fit(trainer, module, corpus, checkpoint)
        if preemption.signal is not None and module.global_step < steps:
            raise StoppedError(preemption.signal, module.global_step, where=folder)
        if module.non_finite_in_a_row:
            raise module.diverged(steps)
        if trainer.is_global_zero and checkpoint and at == steps and (folder / "model").is_dir():
            logger.warning("%s: the run is already complete", folder)
        elif trainer.is_global_zero:
            this_run = provenance(
                config,
                corpus,
                ontology,
                steps=steps,
                seconds=time.monotonic() - began,
                resumed=checkpoint is not None,
                devices=f"{trainer.world_size} × {trainer.strategy.root_device.type}",
            )
            _leave_model(folder, module, this_run if origin is None else united(this_run, origin))
        return Run(folder, steps, module.skipped_steps)


def _fit(trainer: lightning.Trainer, module: Pretraining, corpus: Corpus, checkpoint: Path | None) -> None:
    """Train from a checkpoint to the last step, or until a signal arrives."""
    supervision = supervise(module.config, corpus, module.network.model.ontology)
    data = CorpusData(corpus, supervision, module.config, module.total_steps)
    folder = Path(trainer.default_root_dir)
    # Lightning raises SIGTERMException for a signal just before its first step.
    with warnings.catch_warnings(), suppress(SIGTERMException), lost_peers(trainer.world_size, folder):
        # Users can't act on Lightning's advice on workers, nor on its calls of deprecated functions.
        warnings.filterwarnings("ignore", module="lightning")
        trainer.fit(module, datamodule=data, ckpt_path=checkpoint, weights_only=True)


def _leave_model(folder: Path, module: Pretraining, origin: Provenance) -> None:
    """Write the model of a complete run. Warn if the model has collapsed."""
    model = module.exported()
    model.provenance = origin
    model.save_pretrained(folder / "model")
    if (rank := module.monitored.get("rank", math.inf)) < COLLAPSED:
        logger.warning(
            "%s: the run has collapsed: h_rhythm has an effective rank of %.1f, below %g, so records "
            "look alike (monitors.csv); a lower train.lr or more records per step may help",
            folder,
            rank,
            COLLAPSED,
        )


def _network(
    config: Config, ontology: ecg_ontology.Ontology, texts: Path, weights: Mapping[str, Tensor] | None
) -> Network:
    """Build the network from the seed or given weights, without changing the state of torch's generator."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.train.seed)
        network = Network(config, ontology, texts, weights)
    network.model.encoder.checkpoint_activations = config.train.checkpoint_activations
    if config.train.compile:
        network.compile_encoders()
    return network


def _trainer(
    config: Config,
    folder: Path,
    processes: Processes,
    callbacks: list[lightning.Callback],
    checkpoints: Checkpoints,
    loggers: list[Logger],
) -> lightning.Trainer:
    if not logger.isEnabledFor(logging.DEBUG):  # hides devices, advice and the end of its only epoch
        logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    train = config.train
    bf16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    automatic: Literal["bf16-mixed", "32-true"] = "bf16-mixed" if bf16 else "32-true"
    return lightning.Trainer(
        max_epochs=1,  # the stream lays the epochs end to end
        accelerator=best_device().type,  # Lightning may choose an accelerator that isn't tested
        strategy=processes.strategy(),
        devices=processes.per_node,
        num_nodes=processes.nodes,
        precision=automatic if train.precision == "auto" else train.precision,
        accumulate_grad_batches=train.micro_batches(processes.number)[1],
        callbacks=[*callbacks, checkpoints],
        plugins=[checkpoints.writing, *([processes.environment] if processes.environment else [])],
        logger=loggers or False,
        enable_model_summary=False,
        enable_progress_bar=False,
        use_distributed_sampler=False,
        default_root_dir=folder,
    )


def total_steps(config: Config, records: int) -> int:
    """Return the number of optimiser steps of a run, given the number of records in the corpus."""
    train = config.train
    steps = math.ceil(train.max_epochs * records / train.records_per_step())
    return min(steps, train.max_steps or steps)


def _tell_length(config: Config, folder: Path, steps: int, at: int | None) -> None:
    """Report the length of the run if its epochs end first, or if it is extended at step `at`."""
    train = config.train
    if train.max_steps and steps < train.max_steps:
        ends = f"train.max_epochs={train.max_epochs:g} ends it before train.max_steps={train.max_steps}"
        logger.warning("%s: %d steps: %s", folder, steps, ends)
    if at is not None:
        rate = train.lr * lr_factor(at, steps, train)
        schedule = f"the schedule of {steps} steps, whose learning rate is {rate:.2g} there"
        logger.warning("%s: from step %d to %d by %s", folder, at, steps, schedule)
