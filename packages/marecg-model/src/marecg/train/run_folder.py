"""Create a run folder, or check that the run in it can be resumed."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import ecg_ontology
from ecg_base import remove_left_over, write_text
from ecg_records.signal.leads import LEADS
from ecg_records.storage.documents import read_json
from marecg.corpus import trained_on
from marecg.corpus.prepared import Corpus
from marecg.errors import CheckpointError, UsageError, in_short
from marecg.model.card import BeganFrom
from marecg.recipes import Config
from marecg.train.warm_start import Start

LENGTHS = ("config.train.max_steps", "config.train.max_epochs")
"""Settings that may change with `--extend`."""
LAUNCH = ("config.train.devices", "config.train.nodes")
"""Settings that may always change, because they don't affect the global batch and the random numbers."""
_COPY = "Restore a copy, or start again in another folder"


def claim(
    folder: Path,
    config: Config,
    corpus: Corpus,
    ontology: ecg_ontology.Ontology,
    start: Start | None = None,
    *,
    processes: int,
    resume: bool | None,
    extend: bool = False,
) -> BeganFrom | None:
    """Create a run folder, or check that the run in it can continue.

    Args:
        folder: Run folder, already locked.
        config: Recipe of the run.
        corpus: Corpus of the run.
        ontology: Ontology of the corpus.
        start: Starting weights. If None, a new run starts from random weights, and an existing run keeps its
            starting weights.
        processes: Number of processes, which determines the global batch if the settings don't.
        resume: If True, require an existing run. If False, require that there is none. If None, allow both.
        extend: Whether to require an existing run, and allow it to have another length (`LENGTHS`).

    Returns:
        Description of the starting weights. None if they are random.

    Raises:
        UsageError: If a run is required and missing, or exists although `resume` is False. If the run has
            other settings or other starting weights.
        CheckpointError: If the existing run can't be read, or has other concepts or another corpus.
    """
    described = folder / "config.json"
    identity = {
        "config": config.model_dump(mode="json"),
        "leads": list(LEADS),
        "ontology": ontology.sha256,
        "corpus": fingerprint(corpus),
    }
    # These entries don't identify the run. A run may be resumed with other texts and other routing of codes.
    noted: dict[str, Any] = {"bundle": ontology.bundle_sha256, "captions": config.captions}
    if start is not None:
        noted["began_from"] = start.origin.model_dump(mode="json")  # only the hash is compared
    if not described.exists():
        if resume or extend:
            option = "extend" if extend else "resume"
            raise UsageError(f"has no run to {option}", where=folder, remedy=f"Omit --{option}")
        trained_on.write(corpus, folder, start.run if start else None)
        ontology.save(folder / "ontology.json")
        # Written last, because a folder with config.json is a run.
        write_text(described, json.dumps(identity | noted, indent=2))
        return start.origin if start else None
    if resume is False:
        remedy = "Omit --fresh to continue the run, or choose another folder"
        raise UsageError("already contains a run", where=folder, remedy=remedy)
    before = _begun_with(described, processes)
    bundle = before.pop("bundle")
    before.pop("captions", None)
    origin: BeganFrom | None = before.pop("began_from", None)
    _refuse_other_weights(folder, origin, start.origin if start else None)
    _compare(folder, before, identity, ontology, extend=extend)
    ecg_ontology.load(folder / "ontology.json")  # raises if the file doesn't match its own hash
    if bundle != read_json(folder / "ontology.json", _COPY, CheckpointError)["bundle_sha256"]:
        problem = "was changed after the run was started: labels, texts or routing don't match config.json"
        raise CheckpointError(problem, where=folder / "ontology.json", remedy=_COPY)
    for written in (folder, folder / "checkpoints"):
        remove_left_over(written, alone=True)
    return origin


def note_length(folder: Path, config: Config) -> None:
    """Write the settings of an extended run into its config.json."""
    described = folder / "config.json"
    settings = read_json(described, _COPY, CheckpointError) | {"config": config.model_dump(mode="json")}
    write_text(described, json.dumps(settings, indent=2))


def fingerprint(corpus: Corpus) -> dict[str, Any]:
    """Return values that identify a corpus: number of records, and hashes of signals and labels."""
    return {
        "records": len(corpus),
        "signals": trained_on.signals_sha256(corpus),
        "labels": hashlib.sha256(corpus.y.tobytes()).hexdigest(),
    }


def _begun_with(described: Path, processes: int) -> dict[str, Any]:
    """Read config.json, and compute the global batch for a number of processes."""
    before: dict[str, Any] = read_json(described, _COPY, CheckpointError)
    try:
        config = Config.model_validate(before["config"], context={"elsewhere": True})
        records = config.train.records_per_step(processes)
        before["config"] = config.model_dump(mode="json")
        before["config"]["train"] |= {"accumulate": None, "global_batch_size": records}
        if "began_from" in before:
            before["began_from"] = BeganFrom.model_validate(before["began_from"])
        before["ontology"], before["leads"], before["bundle"], before["corpus"]
    except ValidationError as error:
        names = ", ".join(".".join(map(str, wrong["loc"])) for wrong in error.errors())
        problem = f"has settings that this version doesn't have ({names})"
        remedy = "Use the version that started the run, or start again in another folder"
        raise CheckpointError(problem, where=described, remedy=remedy) from error
    except (ValueError, KeyError, TypeError) as error:
        problem = f"is damaged ({error or type(error).__name__})"
        raise CheckpointError(problem, where=described, remedy=_COPY) from error
    return before


def _refuse_other_weights(folder: Path, noted: BeganFrom | None, start: BeganFrom | None) -> None:
    """Raise `UsageError` if the given weights aren't the starting weights of the run.

    Args:
        folder: Run folder.
        noted: Starting weights of the run.
        start: Given weights. None is accepted.
    """
    if start is None or (noted is not None and noted.sha256 == start.sha256):
        return
    noted_text = f"{noted.name} (SHA-256 {noted.sha256[:8]})" if noted else "random weights"
    problem = f"was started from {noted_text}, got {start.name} ({start.sha256[:8]})"
    remedy = "Give the weights that it was started from, or choose another folder"
    raise UsageError(problem, where=folder, remedy=remedy)


def _compare(
    folder: Path,
    before: dict[str, Any],
    now: dict[str, Any],
    ontology: ecg_ontology.Ontology,
    *,
    extend: bool,
) -> None:
    """Raise an error if the settings of the run in a folder differ from the current settings."""
    use = "Use {} that the run was started with, or choose another folder"
    if before["ontology"] != now["ontology"]:
        difference = ecg_ontology.load(folder / "ontology.json").difference(ontology)
        problem = f"has another enumeration of concepts than the corpus: {in_short(difference)}"
        raise CheckpointError(problem, where=folder, remedy=use.format("a corpus with the ontology"))
    if before["corpus"] != now["corpus"]:
        brief = "{records} records, signals {signals!s:.8}, labels {labels!s:.8}"
        its, this = (brief.format(**corpus) for corpus in (before["corpus"], now["corpus"]))
        problem = f"was started with another corpus: {its}; got {this}"
        raise CheckpointError(problem, where=folder, remedy=use.format("the corpus"))
    its_values, new_values = dict(_flat(before)), dict(_flat(json.loads(json.dumps(now))))
    keys = sorted({key for key, _ in its_values.items() ^ new_values.items()})
    changed = [key for key in keys if key not in LAUNCH and not (extend and key in LENGTHS)]
    if changed:
        values = [run.get(changed[0], "none") for run in (its_values, new_values)]
        key = changed[0].removeprefix("config.")
        problem = f"was started with {key}={values[0]}, got {values[1]}"
        remedy = use.format("the settings")
        if changed[0] in LENGTHS:
            remedy = "Add --extend to change the length of the run, or choose another folder"
        raise UsageError(problem, where=folder, remedy=remedy)


def _flat(tree: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if not isinstance(tree, dict):
        yield key, json.dumps(tree)
        return
    for name, value in tree.items():
        yield from _flat(value, f"{key}.{name}" if key else name)
