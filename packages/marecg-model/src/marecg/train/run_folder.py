"""Whose a run folder is: what it was begun with, and whether a command may go on in it."""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import ecg_ontology
from ecg_ontology import replacing
from marecg.base.config import LEADS
from marecg.base.errors import CheckpointError, UsageError, in_short
from marecg.corpus import trained_on
from marecg.corpus.prepared import Corpus
from marecg.model.card import BeganFrom
from marecg.recipes import Config
from marecg.train.warm_start import Start

_LEFT_OVER = re.compile(r"\.(step-\d+|metrics|monitors|checkpoints|model)-[0-9a-f]{8,16}(\.\w+)?")
"""What `replacing` leaves behind where a process was killed while it wrote."""


def claim(
    folder: Path,
    config: Config,
    corpus: Corpus,
    ontology: ecg_ontology.Ontology,
    start: Start | None = None,
    *,
    resume: bool | None,
) -> BeganFrom | None:
    """Make the run folder ours, or make sure that the run in it is the one to go on with.

    Args:
        folder: the run folder.
        config: the recipe.
        corpus: what is trained on.
        ontology: that of the corpus.
        start: the weights that it begins with; None: random ones, or whatever the run in it began with.
        resume: whether there must be a run in it; None: go on where there is one.

    Returns:
        What the run was begun from, if not from random weights.

    Raises:
        UsageError: there is none, or one that isn't to be continued, one of other settings, or one that was
            begun from other weights.
        CheckpointError: the run in it can't be read, or follows another enumeration or another corpus.
        OutputError: the folder can't be written.
    """
    described = folder / "config.json"
    identity = {
        "config": config.model_dump(mode="json"),
        "captions": config.captions,
        "leads": list(LEADS),
        "ontology": ontology.sha256,
        "corpus": fingerprint(corpus),
    }
    noted: dict[str, Any] = {"bundle": ontology.bundle_sha256}  # another label makes no other run
    if start is not None:
        noted["began_from"] = start.origin.model_dump(mode="json")  # of these its hash is its identity
    if not described.exists():
        if resume:
            raise UsageError("holds no run to resume", where=folder, remedy="Leave --resume out")
        trained_on.write(corpus, folder, start.run if start else None)
        with replacing(folder / "ontology.json") as temporary:
            ontology.save(temporary)
        with replacing(described) as temporary:  # last: a folder that has it is a run
            temporary.write_text(json.dumps(identity | noted, indent=2), encoding="utf-8")
        return start.origin if start else None
    if resume is False:
        raise UsageError(
            "holds a run already",
            where=folder,
            remedy="Leave --fresh out to go on, or name another folder",
        )
    origin = _same_run(folder, corpus, ontology, identity, start)
    for path in [*folder.iterdir(), *(folder / "checkpoints").glob(".*")]:
        if _LEFT_OVER.fullmatch(path.name):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return origin


def _same_run(
    folder: Path,
    corpus: Corpus,
    ontology: ecg_ontology.Ontology,
    identity: dict[str, Any],
    start: Start | None,
) -> BeganFrom | None:
    """Refuse a run that was begun with something else; what it was begun from, if not from random weights."""
    before = _begun_with(folder / "config.json")
    bundle = before.pop("bundle")
    origin: BeganFrom | None = before.pop("began_from", None)
    _refuse_other_weights(folder, origin, start.origin if start else None)
    _compare(folder, before, identity, ontology)
    _refuse_changed_bundle(folder, bundle)
    return origin


def fingerprint(corpus: Corpus) -> dict[str, Any]:
    """What tells a corpus from any other: its records' number, signals and labels, in their order."""
    return {
        "records": len(corpus),
        "signals": trained_on.signals_sha256(corpus),
        "labels": hashlib.sha256(corpus.y.tobytes()).hexdigest(),
    }


def _begun_with(described: Path) -> dict[str, Any]:
    """What config.json says."""
    try:
        before: dict[str, Any] = json.loads(described.read_text(encoding="utf-8"))
        kept = Config.model_validate(before["config"], context={"elsewhere": True})
        before["config"] = kept.model_dump(mode="json")
        if "began_from" in before:
            before["began_from"] = BeganFrom.model_validate(before["began_from"])
        before["ontology"], before["leads"], before["bundle"], before["corpus"]
    except ValidationError as error:
        names = ", ".join(".".join(map(str, each["loc"])) for each in error.errors())
        raise CheckpointError(
            f"has settings that this version does not have ({names})",
            where=described,
            remedy="Go on with the version that began the run, or begin again in another folder",
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"is damaged ({error or type(error).__name__})",
            where=described,
            remedy="Put back a copy, or begin again in another folder",
        ) from error
    return before


def _refuse_other_weights(folder: Path, noted: BeganFrom | None, given: BeganFrom | None) -> None:
    """Refuse to go on from other weights than the run was begun from; those in its checkpoint will do."""
    if given is None or (noted is not None and noted.sha256 == given.sha256):
        return
    its = f"{noted.name} (SHA-256 {noted.sha256[:8]})" if noted else "random weights"
    raise UsageError(
        f"was begun from {its}, not from {given.name} ({given.sha256[:8]})",
        where=folder,
        remedy="Name the weights that it was begun from, or another folder",
    )


def _refuse_changed_bundle(folder: Path, noted: str) -> None:
    """Refuse a run whose ontology.json isn't the one that it was begun with."""
    if noted != ecg_ontology.load(folder / "ontology.json").bundle_sha256:
        raise CheckpointError(
            "was changed since the run was begun: its labels, texts or routing are not config.json's",
            where=folder / "ontology.json",
            remedy="Put back a copy, or begin again in another folder",
        )


def _compare(
    folder: Path, before: dict[str, Any], now: dict[str, Any], ontology: ecg_ontology.Ontology
) -> None:
    if before["ontology"] != now["ontology"]:
        difference = ecg_ontology.load(folder / "ontology.json").difference(ontology)
        raise CheckpointError(
            f"follows another enumeration: {in_short(difference)}",
            where=folder,
            remedy="Go on with a corpus of the ontology that it was begun with, or name another folder",
        )
    if before["corpus"] != now["corpus"]:
        its, this = _brief(before["corpus"]), _brief(now["corpus"])
        raise CheckpointError(
            f"is being trained on another corpus ({its}; this one: {this})",
            where=folder,
            remedy="Go on with the corpus that it was begun with, or name another folder",
        )
    changed = sorted(dict(_flat(before)).items() ^ dict(_flat(json.loads(json.dumps(now)))).items())
    if changed:
        raise UsageError(
            f"was started with another {changed[0][0]}",
            where=folder,
            remedy="Go on with the same settings, or name another folder",
        )


def _brief(corpus: Mapping[str, Any]) -> str:
    """A corpus in a few words."""
    signals, labels = str(corpus["signals"])[:8], str(corpus["labels"])[:8]
    return f"{corpus['records']} records, signals {signals}, labels {labels}"


def _flat(tree: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if not isinstance(tree, dict):
        yield key, json.dumps(tree)
        return
    for name, value in tree.items():
        yield from _flat(value, f"{key}.{name}" if key else name)
