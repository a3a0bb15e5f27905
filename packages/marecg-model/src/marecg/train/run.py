"""Train a model on a corpus (`marecg train`).

A run folder contains config.json, ontology.json, trained_on.parquet, metrics.csv, monitors.csv, checkpoints/,
checkpoints.sha256, and the files of trackers. After the last step, it also contains model/.
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
    """Finished run.

    Attributes:
        folder: Run folder.
        steps: Number of optimiser steps.
        skipped_steps: Number of steps that were skipped because of non-finite gradients.
    """

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
    """Train a model, or resume an interrupted run from its newest undamaged checkpoint.

    After a checkpoint, a resumed run draws the same random numbers as an uninterrupted run, even with another
    number of processes. On SIGTERM, SIGUSR1, SIGXCPU or SIGINT, training stops after the current step and
    saves a checkpoint.

    Args:
        config: Recipe to train.
        data: Folder written by `marecg prepare`.
        out: Run folder, either new or started by the same call.
        start: Initial weights, in any form accepted by `MarEcg.from_pretrained`. Random if None. The recipe
            must have the model settings of the weights (`warm_start.recipe_for`). To resume a run that has a
            checkpoint, they aren't needed.
        resume: If True, require a run in `out`. If False, require that `out` contains no run. If None, resume
            a run if `out` contains a run.
        extend: Require a run in `out`, and allow `train.max_steps` or `train.max_epochs` to differ from it.
            After the newest checkpoint, the learning rate and the objectives' coefficients follow the
            schedule of the new length.
        progress: Function that opens a progress display (`marecg.base.progress`).
        callbacks: Lightning callbacks to run after the built-in callbacks. Their state in a checkpoint may
            contain only tensors and plain values.
        loggers: `tensorboard`, `wandb` or `mlflow`, which write into the run folder, or Lightning loggers.
            See `marecg.train.trackers`. metrics.csv is always written.

    Raises:
        CorpusError: If `data` isn't a corpus, is damaged, or doesn't fit the recipe (`data.refuse_unfit`), or
            if another process is training in `out`.
        CheckpointError: If the run in `out` is damaged, or has other concepts, another order of concepts or
            another corpus. If the initial weights can't be loaded, or have other concepts.
        ConfigError: If the recipe doesn't fit the corpus' graph or the weights, or if its global batch can't
            be divided among the devices.
        UsageError: If the settings contradict torchrun or SLURM (`processes.processes_of`). If the run in
            `out` has other settings or other initial weights, or contradicts `resume`. If the objective MPCT
            needs sentence embeddings, but the extra `marecg[text]` isn't installed. If a tracker isn't
            installed.
        OutputError: If `out` can't be written, or a tracker can't be opened.
        DivergedError: If gradients weren't finite in ten consecutive steps, or in the last step.
        StoppedError: If a signal ended the run before its last step.
        PeerError: If another process of the run didn't respond for ten minutes, or ended.
    """
    refuse_missing(loggers)
    processes = processes_of(config.train)
    folder = Path(out)
    corpus = Corpus.open(data)
    ontology = corpus.ontology()
    initial = None if start is None else load_start(start, ontology)
    config = config.of_ontology(ontology).derived(train=shared_out(config.train, processes.number))
    weights = None if initial is None else initial.weights(config)
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
                initial,
                processes=processes.number,
                resume=resume,
                extend=extend,
            )
            check_corpus(config, corpus, progress)
            if initial is not None:
                initial.warn(config)
        stack.enter_context(preemption.listening())
        settings = config.model_dump(mode="json")
        keep_freed()
        steps = total_steps(config, len(corpus))
        module = Pretraining(config, _network(config, ontology, corpus.folder / TEXTS, weights), steps)
        checkpoint = newest(folder, module)
        done_steps = step_of(checkpoint) if checkpoint else 0
        if checkpoint is None and origin is not None and initial is None:
            problem = f"was started from {origin.name}, but has no checkpoint yet"
            raise UsageError(problem, where=folder, remedy="Give the same initial weights again (--from)")
        trackers = stack.enter_context(opened(loggers, folder, settings, done_steps))
        metrics = Metrics(folder, len(corpus), stack.enter_context(progress("steps")))
        checkpoints = Checkpoints(folder, config.train.checkpoint_every, preemption)
        trainer = _trainer(config, folder, processes, [metrics, *callbacks], checkpoints, trackers)
        if extend and steps <= done_steps:
            problem = f"must be extended to more than {done_steps} steps, got {steps}"
            raise UsageError(problem, where=folder, remedy="Raise train.max_steps or train.max_epochs")
        if trainer.is_global_zero:
            _log_length(config, folder, steps, done_steps if extend else None)
            if extend:
                note_length(folder, config)
        began = time.monotonic()
        _fit(trainer, module, corpus, checkpoint)
        if preemption.signal is not None and module.global_step < steps:
            raise StoppedError(preemption.signal, module.global_step, where=folder)
        if module.non_finite_in_a_row:
            raise module.diverged(steps)
        if trainer.is_global_zero and checkpoint and done_steps == steps and (folder / "model").is_dir():
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
            _write_model(folder, module, this_run if origin is None else united(this_run, origin))
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


def _write_model(folder: Path, module: Pretraining, origin: Provenance) -> None:
    """Write the model of a complete run. Log a warning if the model has collapsed."""
    model = module.exported()
    model.provenance = origin
    model.save_pretrained(folder / "model")
    if (rank := module.monitored.get("rank", math.inf)) < COLLAPSED:
        logger.warning(
            "%s: the run has collapsed: h_rhythm has an effective rank of %.1f, below %g, so all records "
            "look alike. See monitors.csv. A lower train.lr or more records per step may help",
            folder,
            rank,
            COLLAPSED,
        )


def _network(
    config: Config, ontology: ecg_ontology.Ontology, texts: Path, weights: Mapping[str, Tensor] | None
) -> Network:
    """Build the network with random or given weights. The state of torch's generator stays unchanged."""
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
    if not logger.isEnabledFor(logging.DEBUG):  # hides Lightning's messages on devices and epochs
        logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    train = config.train
    bf16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    automatic: Literal["bf16-mixed", "32-true"] = "bf16-mixed" if bf16 else "32-true"
    return lightning.Trainer(
        max_epochs=1,  # the stream of batches already contains all epochs
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
    """Return the number of optimiser steps of a run on a corpus with this number of records."""
    train = config.train
    steps = math.ceil(train.max_epochs * records / train.records_per_step())
    return min(steps, train.max_steps or steps)


def _log_length(config: Config, folder: Path, steps: int, extended_at: int | None) -> None:
    """Log the length of the run if its epochs end before `max_steps`, or if it is extended."""
    train = config.train
    if train.max_steps and steps < train.max_steps:
        reason = f"train.max_epochs={train.max_epochs:g} ends before train.max_steps={train.max_steps}"
        logger.warning("%s: the run has %d steps, because %s", folder, steps, reason)
    if extended_at is not None:
        rate = train.lr * lr_factor(extended_at, steps, train)
        message = "%s: extending the run from step %d to %d; the learning rate continues at %.2g"
        logger.warning(message, folder, extended_at, steps, rate)
