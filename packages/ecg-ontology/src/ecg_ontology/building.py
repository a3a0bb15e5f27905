"""From a folder of sources to what is shipped: the bundle and the lock file."""

from collections.abc import Mapping
from pathlib import Path

from ecg_ontology.bundle import bundle_text
from ecg_ontology.checks.every import findings
from ecg_ontology.concepts import Severity
from ecg_ontology.errors import SourceError, UsageError
from ecg_ontology.files import replacing
from ecg_ontology.lock import lock_of, lock_text
from ecg_ontology.overwriting import bundle_iri
from ecg_ontology.sources import LOCK, read_source


def built_files(sources: Path, bundle: Path) -> dict[Path, str]:
    """Return the text of every file that is built from `sources`: the bundle and the lock.

    Args:
        sources: a folder of sources.
        bundle: where the bundle goes; the lock lies in `sources`.

    Raises:
        SourceError: the sources can't be read, or `ecg_ontology.validate` finds an error in them.
        UsageError: `bundle` is something else than an older bundle of the same ontology.

    Example:
        >>> import ecg_ontology
        >>> try:
        ...     _ = built_files(Path("nowhere"), Path("ccg.json"))
        ... except SourceError as error:
        ...     print(error.problem)
        is no folder of sources
    """
    if not sources.is_dir():
        raise SourceError(
            "is no folder of sources", where=sources, remedy="Name the folder that holds the graph"
        )
    draft = read_source(sources)
    errors = [finding for finding in findings(draft) if finding.severity is Severity.error]
    if errors:
        first = errors[0]
        raise SourceError(
            f"{first.message} [{first.id}] ({len(errors)} errors)",
            where=first.where or sources,
            remedy=f"{first.fix}; `ecgonto validate {sources}` lists them all",
        )
    if bundle.exists() and (iri := bundle_iri(bundle)) != draft.header.iri:
        found = f"the ontology {iri}" if iri else "no ontology"
        raise UsageError(
            f"is {found} and would be lost", where=bundle, remedy="Name a new file, --out OUT.json"
        )
    lock = lock_of(draft)
    text = bundle_text(draft.model_copy(update={"lock": lock}))
    return {bundle: text, sources / LOCK: lock_text(lock)}


def stale_files(files: Mapping[Path, str]) -> list[Path]:
    """Return those of `files` whose text on disk is another one, or that are missing.

    Example:
        >>> import ecg_ontology
        >>> stale_files({Path("nowhere.json"): "{}"})
        [PosixPath('nowhere.json')]
    """
    return [path for path, text in files.items() if not path.is_file() or path.read_text("utf-8") != text]


def write_files(files: Mapping[Path, str]) -> None:
    """Write `files`, each whole or not at all.

    Raises:
        OutputError: one can't be written.

    Example:
        >>> import ecg_ontology, tempfile
        >>> file = Path(tempfile.mkdtemp()) / "ccg.json"
        >>> write_files({file: "{}"})
        >>> stale_files({file: "{}"})
        []
    """
    for path, text in files.items():
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
