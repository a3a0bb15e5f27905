"""What a package offers is what its `__all__` lists."""

import pytest

import ecg_ontology
import marecg


@pytest.mark.parametrize("package", [ecg_ontology, marecg])
def test_dir_lists_all_and_the_version_and_each_name_exists(package):
    assert dir(package) == sorted([*package.__all__, "__version__"])
    assert all(getattr(package, name) is not None for name in dir(package))


@pytest.mark.parametrize("package", [ecg_ontology, marecg])
def test_an_unknown_name_gets_a_suggestion(package):
    with pytest.raises(AttributeError, match="embedd"):
        package.embedd  # noqa: B018
