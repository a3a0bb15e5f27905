"""What a package shows is what it promises; the errors are drawn as they are."""

import pkgutil
import re
import types
from importlib import import_module

import pytest

import ecg_ontology
import marecg
import marecg_corpora
import marecg_report
import marecg_small
from ecg_ontology import EcgError
from marecg.base import errors

PACKAGES = (ecg_ontology, marecg)
MODULES = [
    name
    for package in (*PACKAGES, marecg_corpora, marecg_report)
    for _, name, _ in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not name.endswith("__main__")
]


@pytest.mark.parametrize("package", PACKAGES)
def test_what_a_package_shows_is_its_all_and_its_version(package):
    assert dir(package) == sorted([*package.__all__, "__version__"])
    assert list(package.__all__) == sorted(package.__all__)
    assert all(getattr(package, name) is not None for name in dir(package))
    with pytest.raises(AttributeError, match="embedd"):
        package.embedd  # noqa: B018


def test_a_module_that_has_an_all_defines_nothing_public_beside_it():
    for module in (marecg_small, *map(import_module, MODULES)):
        promised = set(getattr(module, "__all__", ()))
        defined = {
            name
            for name, value in vars(module).items()
            if isinstance(value, type | types.FunctionType)
            and value.__module__ == module.__name__
            and not name.startswith("_")
        }
        assert all(hasattr(module, name) for name in promised), module
        assert not promised or defined <= promised, (module, defined - promised)


def drawn(text: str) -> set[tuple[str, str]]:
    """(error, its parent) of a tree as it is drawn."""
    pairs, above = set(), []
    for line in text.splitlines():
        if match := re.match(r"^ {4}((?:[│ ]   )*)(?:[├└]── )?(\w+Error)\b", line):
            depth = len(match[1]) // 4 + ("── " in line)
            del above[depth:]
            pairs.add((match[2], above[-1] if above else ""))
            above.append(match[2])
    return pairs


def descendants(error: type[EcgError], parent: str = "") -> set[tuple[str, str]]:
    below = (descendants(child, error.__name__) for child in error.__subclasses__())
    return {(error.__name__, parent)}.union(*below)


def test_the_tree_of_errors_is_drawn_as_it_is():
    for name in MODULES:
        import_module(name)  # those that define an error among them
    assert drawn(errors.__doc__) == descendants(EcgError)
