"""`marecg train`: pretrain on a corpus and write a run folder.

A run folder holds config.json, ontology.json, trained_on.parquet, metrics.csv, checkpoints/ with
checkpoints.sha256, what a tracker keeps and, at the end, model/.
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
from marecg.train.data import CorpusData, refuse_unfit, supervise, warn_of_corpus
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
    """Pretrain by a recipe on a prepared corpus, or continue from the newest whole checkpoint.

    Every step after a checkpoint draws what the unbroken run would have drawn, also on another number of
    processes. SIGTERM, SIGUSR1, SIGXCPU and SIGINT end the run after the step that it is in, with a
    checkpoint.

    Args:
        config: the recipe.
        data: a folder that `marecg prepare` wrote.
        out: the run folder, new or begun by the same call.
        start: weights to begin with in place of random ones, as `MarEcg.from_pretrained` finds them; the
            recipe's model is theirs (`warm_start.recipe_for`). A run with a checkpoint can do without them.
        resume: True: refuse a folder without a run; False: refuse one with a run.
        extend: let the run in `out` get another `train.max_steps` or `train.max_epochs`: from its newest
            checkpoint on, learning rate and ramps are those that a run of that length has at that step.
        callbacks: further ones of Lightning's, asked after ours; what they keep in a checkpoint must be
            tensors and plain values, because nothing else is read back.
        loggers: what follows the run beside metrics.csv: `tensorboard`, `wandb` or `mlflow`, kept in the
            run folder, or loggers of Lightning's; see `marecg.train.trackers`.

    Raises:
        CorpusError: `data` isn't a corpus that the recipe can be trained on (`data.refuse_unfit`), or another
            process is training in `out`.
        CheckpointError: the run in `out` is damaged, or follows another enumeration or another corpus; or
            the weights can't be loaded, or follow another enumeration.
        ConfigError: the recipe doesn't fit the corpus' graph, or the weights; or its global batch can't be
            divided among the devices.
        UsageError: the settings contradict torchrun or SLURM (`processes.processes_of`); or the run in `out`
            has other settings, or began from other weights, or `resume` forbids it;
            MPCT has no sentence embeddings, and can't make them here; or a tracker is not installed.
        OutputError: `out` can't be written, or a tracker opened.
        DivergedError: gradients weren't finite ten steps in a row, or in the last step.
        StoppedError: a signal ended the run before its last step.
        PeerError: another process of the run gave no sign for ten minutes, or is gone.
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
            warn_of_corpus(config, corpus)
            if given is not None:
                given.warn(config)
        stack.enter_context(preemption.listening())
        settings = config.model_dump(mode="json")
        keep_freed()
        steps = _total_steps(config, len(corpus))
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
            logger.warning("%s: nothing done, the run is complete", folder)
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
    """Take all steps behind a checkpoint, or as many as a signal lets."""
    supervision = supervise(module.config, corpus, module.network.model.ontology)
    data = CorpusData(corpus, supervision, module.config, module.total_steps)
    folder = Path(trainer.default_root_dir)
    # SIGTERMException: a signal just before Lightning's first step
    with warnings.catch_warnings(), suppress(SIGTERMException), lost_peers(trainer.world_size, folder):
        # Lightning advises on loggers and workers, and calls what torch deprecates: no user's concern.
        warnings.filterwarnings("ignore", module="lightning")
        trainer.fit(module, datamodule=data, ckpt_path=checkpoint, weights_only=True)


def _leave_model(folder: Path, module: Pretraining, origin: Provenance) -> None:
    """Write the model of a run that is complete; warn where it has collapsed."""
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
    """The network as the seed or given weights initialise it, leaving torch's own generator as it was."""
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
    if not logger.isEnabledFor(logging.DEBUG):  # devices, advice, and that its one epoch is over
        logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    train = config.train
    bf16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    automatic: Literal["bf16-mixed", "32-true"] = "bf16-mixed" if bf16 else "32-true"
    return lightning.Trainer(
        max_epochs=1,  # the stream lays the epochs end to end
        accelerator=best_device().type,  # Lightning's own choice may be one that no test has seen
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


def _total_steps(config: Config, records: int) -> int:
    """Optimiser steps of the run on a corpus of so many records."""
    train = config.train
    steps = math.ceil(train.max_epochs * records / train.records_per_step())
    return min(steps, train.max_steps or steps)


def _tell_length(config: Config, folder: Path, steps: int, at: int | None) -> None:
    """Say how long the run is where its epochs end it first, or where it is extended at a step."""
    train = config.train
    if train.max_steps and steps < train.max_steps:
        ends = f"train.max_epochs={train.max_epochs:g} ends it before train.max_steps={train.max_steps}"
        logger.warning("%s: %d steps: %s", folder, steps, ends)
    if at is not None:
        rate = train.lr * lr_factor(at, steps, train)
        schedule = f"the schedule of {steps} steps, whose learning rate is {rate:.2g} there"
        logger.warning("%s: from step %d to %d by %s", folder, at, steps, schedule)
