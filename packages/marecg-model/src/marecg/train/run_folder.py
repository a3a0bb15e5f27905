"""Run folder: the settings of the run, and the checks before the run is resumed."""

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
"""Settings that `--extend` may change: the length of a run."""
LAUNCH = ("config.train.devices", "config.train.nodes")
"""Settings that may always change, because the global batch and the draws don't depend on them."""
_COPY = "Put back a copy, or begin again in another folder"


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
    """Create a locked run folder, or check that the run in it may continue.

    Args:
        folder: Run folder, already locked.
        config: Recipe of the run.
        corpus: Corpus of the run.
        ontology: Ontology of the corpus.
        start: Starting weights. If None, they are random, or the starting weights of the existing run.
        processes: Number of processes. It sets the global batch if the settings of the run don't.
        resume: If True, require an existing run. If False, require that there is none.
        extend: Require an existing run, and allow another length (`note_length`).

    Returns:
        Description of the starting weights. None if they are random.

    Raises:
        UsageError: If a required run is missing, or the existing run must not be continued, has other
            settings, or has other starting weights.
        CheckpointError: If the existing run can't be read, or has another enumeration or corpus.
    """
    described = folder / "config.json"
    identity = {
        "config": config.model_dump(mode="json"),
        "captions": config.captions,
        "leads": list(LEADS),
        "ontology": ontology.sha256,
        "corpus": fingerprint(corpus),
    }
    # Other texts or routing don't make another run.
    noted: dict[str, Any] = {"bundle": ontology.bundle_sha256}
    if start is not None:
        noted["began_from"] = start.origin.model_dump(mode="json")  # compared by its hash only
    if not described.exists():
        if resume or extend:
            asked = "extend" if extend else "resume"
            raise UsageError(f"has no run to {asked}", where=folder, remedy=f"Omit --{asked}")
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
    origin: BeganFrom | None = before.pop("began_from", None)
    _refuse_other_weights(folder, origin, start.origin if start else None)
    _compare(folder, before, identity, ontology, extend=extend)
    ecg_ontology.load(folder / "ontology.json")  # raises if the file doesn't have the hash that it states
    if bundle != read_json(folder / "ontology.json", _COPY, CheckpointError)["bundle_sha256"]:
        problem = "was changed since the run was begun: its labels, texts or routing are not config.json's"
        raise CheckpointError(problem, where=folder / "ontology.json", remedy=_COPY)
    for written in (folder, folder / "checkpoints"):
        remove_left_over(written, alone=True)
    return origin


def note_length(folder: Path, config: Config) -> None:
    """Replace the settings in a run folder by the settings of the extended run."""
    described = folder / "config.json"
    settings = read_json(described, _COPY, CheckpointError) | {"config": config.model_dump(mode="json")}
    write_text(described, json.dumps(settings, indent=2))


def fingerprint(corpus: Corpus) -> dict[str, Any]:
    """Identify a corpus by the number of its records, and by hashes of their signals and labels."""
    return {
        "records": len(corpus),
        "signals": trained_on.signals_sha256(corpus),
        "labels": hashlib.sha256(corpus.y.tobytes()).hexdigest(),
    }


def _begun_with(described: Path, processes: int) -> dict[str, Any]:
    """Read the settings in config.json, with the global batch for a number of processes."""
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
        problem = f"has settings that this version does not have ({names})"
        remedy = "Go on with the version that began the run, or begin again in another folder"
        raise CheckpointError(problem, where=described, remedy=remedy) from error
    except (ValueError, KeyError, TypeError) as error:
        problem = f"is damaged ({error or type(error).__name__})"
        raise CheckpointError(problem, where=described, remedy=_COPY) from error
    return before


def _refuse_other_weights(folder: Path, noted: BeganFrom | None, given: BeganFrom | None) -> None:
    """Raise if the given weights differ from the starting weights of the run. None given is accepted."""
    if given is None or (noted is not None and noted.sha256 == given.sha256):
        return
    its = f"{noted.name} (SHA-256 {noted.sha256[:8]})" if noted else "random weights"
    problem = f"was begun from {its}, not from {given.name} ({given.sha256[:8]})"
    remedy = "Name the weights that it was begun from, or another folder"
    raise UsageError(problem, where=folder, remedy=remedy)


def _compare(
    folder: Path,
    before: dict[str, Any],
    now: dict[str, Any],
    ontology: ecg_ontology.Ontology,
    *,
    extend: bool,
) -> None:
    what = "Go on with {} that it was begun with, or name another folder"
    if before["ontology"] != now["ontology"]:
        difference = ecg_ontology.load(folder / "ontology.json").difference(ontology)
        problem = f"follows another enumeration: {in_short(difference)}"
        raise CheckpointError(problem, where=folder, remedy=what.format("a corpus of the ontology"))
    if before["corpus"] != now["corpus"]:
        brief = "{records} records, signals {signals!s:.8}, labels {labels!s:.8}"
        its, this = (brief.format(**corpus) for corpus in (before["corpus"], now["corpus"]))
        problem = f"is being trained on another corpus ({its}; this one: {this})"
        raise CheckpointError(problem, where=folder, remedy=what.format("the corpus"))
    its_values, new_values = dict(_flat(before)), dict(_flat(json.loads(json.dumps(now))))
    keys = sorted({key for key, _ in its_values.items() ^ new_values.items()})
    changed = [key for key in keys if key not in LAUNCH and not (extend and key in LENGTHS)]
    if changed:
        values = [run.get(changed[0], "none") for run in (its_values, new_values)]
        key = changed[0].removeprefix("config.")
        problem = f"was started with {key}={values[0]}, and is asked to go on with {values[1]}"
        remedy = what.format("the settings")
        if changed[0] in LENGTHS:
            remedy = "Add --extend to train on by the new length's schedule, or name another folder"
        raise UsageError(problem, where=folder, remedy=remedy)


def _flat(tree: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if not isinstance(tree, dict):
        yield key, json.dumps(tree)
        return
    for name, value in tree.items():
        yield from _flat(value, f"{key}.{name}" if key else name)
