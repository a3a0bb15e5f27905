"""Who reads only `help(name)` of a public name learns each argument and what comes back.

Google style: each argument stands under `Args:`. Where something is returned, the text begins with "Return"
(of a context manager "Yield") or has `Returns:`.
"""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

PACKAGES = ("ecg_ontology", "marecg")
NOTHING = (inspect.Signature.empty, None, "None", "NoReturn", "Never")


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Each public function and method of the names that the two packages offer."""
    for package in map(importlib.import_module, PACKAGES):
        for name in package.__all__:
            value = getattr(package, name)
            if inspect.isfunction(value):
                yield f"{package.__name__}.{name}", value
            elif inspect.isclass(value):
                for inner, member in inspect.getmembers_static(value):
                    method = getattr(member, "__func__", member)
                    ours = inspect.isfunction(method) and method.__module__.startswith(PACKAGES)
                    if ours and not inner.startswith("_"):
                        yield f"{package.__name__}.{name}.{inner}", method


@pytest.mark.parametrize(("name", "function"), [pytest.param(*each, id=each[0]) for each in public()])
def test_a_public_function_says_what_it_takes_and_returns(name, function):
    text, signature = inspect.getdoc(function) or "", inspect.signature(function)
    section = re.search(r"^Args:\n((?: {4}.*\n?)+)", text, re.MULTILINE)
    listed = re.findall(r"^ {4}\*{0,2}(\w+): ", section[1] if section else "", re.MULTILINE)
    missing = [each for each in signature.parameters if each not in {"self", "cls", *listed}]
    assert not missing, f"{name}: add {', '.join(missing)} to `Args:`"
    if signature.return_annotation not in NOTHING:
        assert re.search(r"\A(Return|Yield) |^Returns:", text, re.MULTILINE), f"{name}: add `Returns:`"
