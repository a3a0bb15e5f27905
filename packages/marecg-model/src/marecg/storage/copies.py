"""What lies in a store, as files of this machine: copied when it is named, by the names that it has there.

Of files that are read one by one, and once, there is a link to their address, which leads nowhere on this
machine: whoever reads such a file fetches it first. The copies themselves are in `mirrors`.
"""

import glob
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from marecg.base.errors import InputError, OutputError, UsageError
from marecg.storage.mirrors import Later, origin_of, store_of
from marecg.storage.places import Place, is_remote, reasoned


def ensure_local(where: str | Path, later: Later = lambda path, listed: False) -> Path:
    """A path as it is; of an address what lies there, copied now as far as it is new or has changed.

    Args:
        where: a file or a folder, or the address of one.
        later: which files are brought only when they are read, by `fetch`.

    Raises:
        UsageError: fsspec knows no such protocol, or lacks the library for it.
        InputError: nothing is there, or the store or this machine's disk refuses.
    """
    if not is_remote(where):
        return Path(where)
    store, root = store_of(str(where))
    if store is None:
        return Path(root)
    with store.locked():
        try:
            store.fs.invalidate_cache()
            listed = store.fs.find(root, detail=True)
            if not listed or root in listed:  # a file: what goes by its name belongs to it
                listed |= store.fs.glob(f"{glob.escape(_stem(root, listed))}.*", detail=True)
            if not listed:
                raise FileNotFoundError("nothing is there")
            store.take(listed, later)
        except InputError:
            raise
        except Exception as error:  # each store has errors of its own
            raise _unreadable(error, where) from error
        if root not in listed and f"{root}/corpus.json" not in listed:  # to a corpus, training adds files
            store.forget(root, listed)
    return store.local(root)


def is_linked(path: Path) -> bool:
    """Whether a path is a link to the address of a file that is fetched when it is read."""
    return path.is_symlink() and origin_of(path) is not None


def address(path: Path) -> str | None:
    """Where a copy comes from; None for any other path."""
    found = origin_of(path)
    return None if found is None else found[0].prefix + found[1]


def fetch(path: Path, to: Path) -> None:
    """Put the content of a copy, or of what is only a link so far, at another path of this machine.

    Raises:
        InputError: the store or this machine's disk refuses.
    """
    found = origin_of(path)
    if found is None or not path.is_symlink():
        shutil.copyfile(path, to)
        return
    store, name = found
    try:
        store.fs.get_file(name, str(to))
    except Exception as error:  # as above
        raise _unreadable(error, store.prefix + name) from error


@contextmanager
def upload(where: str, last: str) -> Iterator[Path]:
    """A folder of this machine whose files lie at an address too when the block succeeds.

    Begun again after an interruption it is as it was; what is there already is copied first.

    Args:
        where: the address.
        last: the file that says that all is there; it is sent when the others have arrived.

    Raises:
        UsageError: the address holds other things.
        OutputError: it can't be written.
    """
    store, root = store_of(where)
    if store is None:
        yield Path(root)
        return
    bucket = root.partition("/")[0]
    try:
        known = not bucket or store.fs.exists(bucket)
    except Exception as error:  # as above
        raise _unwritable(error, where) from error
    if not known:
        raise UsageError(f"there is no {bucket}", where=where, remedy="Make it, or check its name")
    folder, names = store.local(root), Place(where).names()
    if last in names:
        ensure_local(where)
    elif others := [name for name in names if not (folder / name).exists()]:
        problem = f"is not empty ({', '.join(others[:3])}) and has no {last}"
        raise UsageError(problem, where=where, remedy="Choose another address for --out")
    yield folder
    try:
        store.send(root, last)
    except Exception as error:  # as above
        further = f"; what is done lies in {folder}, and the same command sends it"
        raise _unwritable(error, where, further) from error


def _stem(root: str, listed: Collection[str]) -> str:
    """What the files of a record begin with, where one of them, or the record, is named."""
    return str(PurePosixPath(root).with_suffix("")) if root in listed else root


def _unwritable(error: Exception, where: str, further: str = "") -> OutputError:
    problem, remedy = reasoned(error)
    return OutputError(f"cannot be written: {problem}", where=where, remedy=remedy + further)


def _unreadable(error: Exception, where: str | Path) -> InputError:
    problem, remedy = reasoned(error)
    return InputError(problem, where=where, remedy=remedy)
