"""Build the bundle and the lock file from a folder of sources.

The bundle is a single JSON file with the whole ontology. The lock file ``enumeration.lock`` freezes the
concepts, the edges and the assignment of codes to concepts of a version, because models depend on them.
"""

import re
import shutil
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from pathlib import Path

from ecg_base import EcgError, UsageError, refuse_others, replacing
from ecg_ontology.base.errors import SourceError
from ecg_ontology.base.reading import read_text
from ecg_ontology.checks.enumeration import FROZEN, NO_LOCK, version_of
from ecg_ontology.curation.findings import findings
from ecg_ontology.formats.bundle import bundle_text, read_bundle
from ecg_ontology.formats.sources import LOCK, graph_file, read_source
from ecg_ontology.formats.sssom import with_version
from ecg_ontology.formats.transaction import editing, write_all
from ecg_ontology.graph.concepts import Severity
from ecg_ontology.graph.drafts import Draft, Lock
from ecg_ontology.graph.enumeration import lock_of, lock_text


def packaged_sources() -> Path:
    """Return the folder of the packaged ontology's sources, in the installed package or in the checkout."""
    inside = Path(__file__).parents[1] / "data" / "sources"
    return inside if inside.is_dir() else Path(__file__).parents[5] / "ontology"


def write_sources(folder: Path) -> Path:
    """Copy the packaged ontology's sources to a new folder, so that they can be edited. Return the folder."""
    refuse_others(folder, lambda _: False)
    with replacing(folder) as temporary:
        shutil.copytree(packaged_sources(), temporary, ignore=shutil.ignore_patterns(".*"))
    return folder


def built_files(sources: Path, bundle: Path, new_version: str = "") -> dict[Path, str]:
    """Return the texts of all files that a build writes, by path.

    The files are the bundle, the lock, the tables with the version in their metadata, and the graph if it
    gets a new version.

    Args:
        sources: folder of sources.
        bundle: path of the bundle.
        new_version: version of the ontology, such as "1.3.0". "" keeps the version, so that a change of the
            content that the lock freezes is an error.

    Raises:
        SourceError: the sources can't be read, or `ecg_ontology.validate` finds an error.
        UsageError: the output exists and isn't a bundle of this ontology, the lock would change without a new
            version, or the new version isn't higher than the frozen version.
    """
    if not sources.is_dir():
        problem = "must be a folder of sources"
        raise SourceError(problem, where=sources, remedy="Give the folder that contains the graph")
    draft = read_source(sources)
    files: dict[Path, str] = {}
    if new_version:
        files |= _graph_of_version(sources, draft, new_version)
        draft = draft.model_copy(update={"header": draft.header.model_copy(update={"version": new_version})})
    earlier = _earlier(bundle, draft)
    # From version 1.0.0 on, a first lock needs --new-version, so that a lost lock isn't recreated silently.
    first = draft.lock is None and (earlier is None or earlier.lock is None) and bool(new_version)
    stated = _of_version(draft) if new_version and draft.lock is not None else draft
    # Report real errors first, and differences from the frozen lock last.
    by_weight = sorted(findings(stated), key=lambda finding: finding.id == FROZEN)
    errors = [
        finding
        for finding in by_weight
        if finding.severity is Severity.error and not (first and finding.id == NO_LOCK)
    ]
    if errors:
        problem = f"{errors[0].message} [{errors[0].id}] ({len(errors)} errors)"
        remedy = f"{errors[0].fix}. `ecgonto validate {sources}` lists all errors"
        raise SourceError(problem, where=errors[0].where or sources, remedy=remedy)
    lock = lock_of(draft)
    if draft.lock is not None and not _freezes_the_same(draft.lock, lock) and not new_version:
        problem = f"freezes version {draft.lock.version}, but the sources have changed"
        remedy = f"Add --new-version with a version that is higher than {draft.lock.version}"
        raise UsageError(problem, where=sources / LOCK, remedy=remedy)
    tables = {sources / name: with_version(read_text(sources / name), lock.version) for name in draft.tables}
    text = bundle_text(_of_version(draft.model_copy(update={"lock": lock})))
    return files | tables | {sources / LOCK: lock_text(lock), bundle: text}


def _of_version(draft: Draft) -> Draft:
    """Return a copy of the draft in which the metadata of all tables have the version of the ontology."""
    version = {"version": draft.header.version}
    tables = {name: head.model_copy(update=version) for name, head in draft.tables.items()}
    return draft.model_copy(update={"tables": tables})


def _earlier(bundle: Path, draft: Draft) -> Draft | None:
    """Return the bundle that the build will replace, or None. Raises `UsageError` for any other file."""
    if not bundle.exists():
        return None
    problem = "isn't an ontology"
    with suppress(EcgError):
        earlier = read_bundle(bundle)
        if earlier.header.iri == draft.header.iri:
            return earlier
        problem = f"is the ontology {earlier.header.iri}"
    raise UsageError(f"{problem} and would be lost", where=bundle, remedy="Name a new file, --out OUT.json")


def _freezes_the_same(old: Lock, new: Lock) -> bool:
    """Return whether two locks freeze the same content. Early locks have no routing to compare."""
    known = (old.version, old.sha256, old.yields) == (new.version, new.sha256, new.yields)
    return known and old.routing in ("", new.routing)


def _graph_of_version(sources: Path, draft: Draft, version: str) -> dict[Path, str]:
    """Return the path of the graph's file and its text with the new version.

    The result is {} if the graph already has this version.
    """
    old = draft.header.version
    if draft.lock is not None and version_of(version) <= version_of(draft.lock.version):
        problem = f"must be higher than {draft.lock.version} in the lock, got {version}"
        raise UsageError(problem, where="--new-version", remedy="Raise the major, minor or patch number")
    if old == version:
        return {}
    path = graph_file(sources)
    text, count = re.subn(rf'(owl:versionInfo ")({re.escape(old)}")', rf'\g<1>{version}"', read_text(path))
    if count != 1 or path.suffix != ".ttl":
        remedy = f'Write owl:versionInfo "{version}" into its header by hand'
        raise UsageError(f"the version {old!r} can't be replaced automatically", where=path, remedy=remedy)
    return {path: text.replace(f"<{draft.header.iri}/{old}>", f"<{draft.header.iri}/{version}>")}


def stale_files(files: Mapping[Path, str]) -> list[Path]:
    """Return the paths of the files that are missing on disk or have another text there."""
    return [path for path, text in files.items() if not path.is_file() or path.read_text("utf-8") != text]


def build(
    sources: Path, bundle: Path, new_version: str = "", *, check: bool = False
) -> tuple[list[Path], list[Path]]:
    """Write the files of `built_files`, which also explains the arguments.

    Concurrent builds wait for each other. All files in the folder of sources change together. If `check`,
    nothing is written. Raises the errors of `built_files`, and `OutputError` if a file can't be written.

    Returns:
        The paths of all built files, and the paths of the files that were missing or out of date.
    """
    with nullcontext() if check or not sources.is_dir() else editing(sources):
        files = built_files(sources, bundle, new_version)
        stale = stale_files(files)
        if not check:
            write_all(sources, {path: files[path] for path in stale})
    return list(files), stale
