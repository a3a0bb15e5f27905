"""The lock and the bundle: what they freeze can't be changed unseen."""

import json
import re
import shutil
from pathlib import Path

import pytest

import ecg_ontology
from ecg_ontology import SourceError
from ecg_ontology.building import built_files, write_files


@pytest.fixture
def folder(sources, tmp_path):
    return Path(shutil.copytree(sources, tmp_path / "ontology"))


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert re.search(old, text)
    path.write_text(re.sub(old, new, text, count=1), encoding="utf-8")


def ids(folder):
    return {f.id for f in ecg_ontology.validate(folder) if f.id.startswith(("CCG-E2", "CCG-W2"))}


@pytest.mark.parametrize(
    ("file", "old", "new", "rule"),
    [
        ("enumeration.lock", "version\\t1.0.0", "version\\t0.0.1", "CCG-E201"),
        ("enumeration.lock", "yields\\t34\\n", "", "CCG-E201"),
        ("enumeration.lock", "official\\t133", "official\\t1", "CCG-E201"),
        ("enumeration.lock", "seal\\t[0-9a-f]+\\n", "", "CCG-W204"),
        ("enumeration.lock", "seal\\t[0-9a-f]{8}", "seal\\t00000000", "CCG-E201"),
        ("enumeration.lock", "node\\t5\\t.*\\n", "", "CCG-E201"),
        ("cardiac.ttl", 'versionInfo "1.0.0"', 'versionInfo "banana"', "CCG-E205"),
        ("cardiac.ttl", 'versionInfo "1.0.0"', 'versionInfo "1.0"', "CCG-E205"),
        ("cardiac.ttl", "    ccg:yields true ;\\n", "", "CCG-E203"),
        ("cardiac.ttl", ":AFL a ccg:Leaf ;\\n", ":AFL a ccg:Leaf ;\\n    ccg:yields true ;\\n", "CCG-E203"),
        ("challenge.tsv", "164889003\\t.*\\n", "", "CCG-E206"),
    ],
)
def test_the_lock_cannot_be_switched_off(folder, file, old, new, rule):
    assert ids(folder) == set()
    edit(folder / file, old, new)
    assert rule in ids(folder)


@pytest.mark.parametrize("key", ["version", "sha256", "official", "seal"])
def test_a_lock_that_says_a_thing_twice_is_none(folder, key):
    """As two that were merged do."""
    lock = folder / "enumeration.lock"
    text = lock.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith(f"{key}\t"))
    lock.write_text(f"{text}{line}\n", encoding="utf-8")
    with pytest.raises(SourceError, match="no enumeration lock: it names no version and sha256, or two"):
        ecg_ontology.load(folder)


@pytest.mark.parametrize(("name", "rule"), [("enumeration.lock", "CCG-W204"), ("challenge.tsv", "CCG-E206")])
def test_a_missing_companion_is_noticed(folder, name, rule):
    (folder / name).unlink()
    assert rule in ids(folder)


def test_a_higher_version_may_change_what_yields_and_the_official_map(folder, tmp_path):
    edit(folder / "cardiac.ttl", 'versionInfo "1.0.0"', 'versionInfo "1.1.0"')
    edit(folder / "cardiac.ttl", "    ccg:yields true ;\\n", "")
    edit(folder / "challenge.tsv", "164889003\\t.*\\n", "")
    assert ids(folder) == set()
    write_files(built_files(folder, tmp_path / "ccg.json"))
    assert ids(folder) == set()
    assert "yields" not in (folder / "enumeration.lock").read_text(encoding="utf-8")


def test_the_graph_s_own_hash_is_what_it_was_before_seals(onto):
    assert onto.sha256 == onto.draft.lock.sha256
    assert onto.sha256 == "8de0b3bdcefb0c1dfea2f20c210e0871bc30b1827b5a4b9962a96243b4d68d0d"


# --- the bundle


@pytest.fixture
def bundle(onto, tmp_path):
    onto.save(tmp_path / "ontology.json")
    return tmp_path / "ontology.json"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"Atrial fibrillation"', '"<svg onload=x>"'),
        ('"Irregularly irregular rhythm without P waves"', '"Regular rhythm"'),
        ('"yields": true', '"yields": false'),
        ('"node": "https://w3id.org/mar-ecg/cardiac#AFL"', '"node": "https://w3id.org/mar-ecg/cardiac#AF"'),
        ('"reason": "', '"reason": "not '),
        ('"version": "1.0.0"', '"version": "1.0.1"'),
    ],
)
def test_a_bundle_that_was_changed_is_refused(bundle, old, new):
    text = bundle.read_text(encoding="utf-8")
    assert old in text
    bundle.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SourceError, match="was changed since it was written"):
        ecg_ontology.load(bundle)


def test_a_bundle_is_its_content_not_its_layout(onto, bundle):
    bundle.write_text(json.dumps(json.loads(bundle.read_text(encoding="utf-8"))), encoding="utf-8")
    assert ecg_ontology.load(bundle).bundle_sha256 == onto.bundle_sha256


def test_a_bundle_of_before_hashes_still_loads(onto, bundle):
    edit(bundle, '"bundle_sha256": "[0-9a-f]{64}",', "")
    again = ecg_ontology.load(bundle)
    assert again.bundle_sha256 == onto.bundle_sha256
    again.save(bundle)
    assert '"bundle_sha256"' in bundle.read_text(encoding="utf-8")


def test_a_saved_bundle_the_package_s_and_the_sources_have_one_hash(onto, bundle, sources):
    stated = json.loads(bundle.read_text(encoding="utf-8"))["bundle_sha256"]
    assert stated == onto.bundle_sha256 == ecg_ontology.load(sources).bundle_sha256
