"""The lock and the bundle: what they freeze can't be changed unseen."""

import hashlib
import json
import re

import pytest

import ecg_ontology
from ecg_base import UsageError
from ecg_ontology.base.errors import SourceError
from ecg_ontology.curation.building import build, built_files


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert re.search(old, text)
    path.write_text(re.sub(old, new, text, count=1), encoding="utf-8")


def ids(small):
    return {f.id for f in ecg_ontology.validate(small) if f.id.startswith(("CCG-E2", "CCG-W2"))}


@pytest.mark.parametrize(
    ("file", "old", "new", "rule"),
    [
        ("enumeration.lock", "yields\t[0-9]+\n", "", "CCG-E201"),
        ("enumeration.lock", "route\tbase.*\n", "", "CCG-E201"),
        ("enumeration.lock", "route\tbase(.*)\tAFL\n", "route\tbase\\1\tAF\n", "CCG-E201"),
        ("enumeration.lock", "routing\t[0-9a-f]{8}", "routing\t00000000", "CCG-E201"),
        ("enumeration.lock", "node\t5\t.*\n", "", "CCG-E201"),
        ("cardiac.ttl", 'versionInfo "1.2.0"', 'versionInfo "banana"', "CCG-E205"),
        ("cardiac.ttl", 'versionInfo "1.2.0"', 'versionInfo "1.0"', "CCG-E205"),
        ("cardiac.ttl", "    ccg:yields true ;\n", "", "CCG-E203"),
        ("cardiac.ttl", ":AFL a ccg:Leaf ;\n", ":AFL a ccg:Leaf ;\n    ccg:yields true ;\n", "CCG-E203"),
        ("cardiac.ttl", '    owl:versionInfo "1.2.0" ;\n', "", "CCG-E207"),
        ("cardiac.ttl", 'versionInfo "1.2.0"', 'versionInfo "0.9.0"', "CCG-E207"),
        ("routing.scp.sssom.tsv", "exactMatch\tcardiac:WPW", "closeMatch\tcardiac:WPW", "CCG-E206"),
        ("routing.scp.sssom.tsv", "scp:WPW.*\n", "", "CCG-E206"),
    ],
)
def test_the_lock_cannot_be_switched_off(small, file, old, new, rule):
    edit(small / file, old, new)
    assert rule in ids(small)


@pytest.mark.parametrize("key", ["version", "sha256", "routing"])
def test_a_lock_that_says_a_thing_twice_is_refused(small, key):
    """As two that were merged do."""
    lock = small / "enumeration.lock"
    text = lock.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith(f"{key}\t"))
    lock.write_text(f"{text}{line}\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"must have one version, one sha256"):
        ecg_ontology.load(small)


@pytest.mark.parametrize(
    ("name", "rule"), [("enumeration.lock", "CCG-E208"), ("routing.scp.sssom.tsv", "CCG-E206")]
)
def test_a_missing_companion_is_noticed(small, name, rule):
    (small / name).unlink()
    assert rule in ids(small)


def test_texts_are_left_to_version_control(small, tmp_path):
    edit(small / "cardiac.ttl", "Chronic infarct scar", "Scar of an infarct")
    edit(small / "errata.ttl", "Nine within-family", "Eight within-family")
    edit(small / "crosswalk.icd10.sssom.tsv", "skos:exactMatch", "skos:closeMatch")
    assert ids(small) == set()
    before = (small / "enumeration.lock").read_bytes()
    build(small, tmp_path / "ccg.json")
    assert (small / "enumeration.lock").read_bytes() == before


def test_a_lock_of_the_earlier_form_is_read_and_built_anew(small, tmp_path):
    lock = small / "enumeration.lock"
    now = lock.read_text(encoding="utf-8")
    kept = [
        line for line in now.splitlines() if line.startswith(("version", "sha256", "node", "edge", "yields"))
    ]
    former = ["seal\t00", "official\t133", "hash\ttexts\t00", "earlier\t1.1.0\t00", "item\ttexts\tAF\t00"]
    lock.write_text("\n".join((*kept[:2], former[0], *kept[2:], *former[1:])) + "\n", encoding="utf-8")
    assert ids(small) == set()
    build(small, tmp_path / "ccg.json")
    assert lock.read_text(encoding="utf-8") == now


def test_a_higher_version_may_change_what_yields_and_the_routing(small, tmp_path):
    raise_version(small, "1.3.0")
    edit(small / "cardiac.ttl", "    ccg:yields true ;\\n", "")
    edit(small / "routing.scp.sssom.tsv", "exactMatch\tcardiac:WPW", "closeMatch\tcardiac:WPW")
    assert ids(small) == set()
    build(small, tmp_path / "ccg.json", "1.3.0")
    assert ids(small) == set()
    assert "\nyields" not in (small / "enumeration.lock").read_text(encoding="utf-8")


def raise_version(small, version):
    for part in ("cardiac/{}>", 'versionInfo "{}"'):
        edit(small / "cardiac.ttl", part.format("1.2.0"), part.format(version))


def test_a_lock_is_replaced_only_by_a_higher_version_that_is_asked_for(small, tmp_path):
    """Lower the version, build, swap two indices, raise it again, build: nothing noticed that."""
    bundle = tmp_path / "ccg.json"
    before = (small / "enumeration.lock").read_text(encoding="utf-8")
    raise_version(small, "1.3.0")
    with pytest.raises(UsageError, match=r"freezes version 1\.2\.0, but the sources have changed"):
        built_files(small, bundle)
    for version in ("0.9.0", "1.1.0", "1.2.0"):
        with pytest.raises(UsageError, match=f"must be higher than 1.2.0 in the lock, got {version}"):
            built_files(small, bundle, version)
    build(small, bundle, "1.4.0")
    text = (small / "enumeration.lock").read_text(encoding="utf-8")
    assert "version\t1.4.0\n" in text
    assert text == before.replace("version\t1.2.0", "version\t1.4.0")
    assert ecg_ontology.load(small).header.version == "1.4.0"
    assert ecg_ontology.validate(small, "curated") == ()


def test_a_lock_that_was_once_there_is_not_built_anew(small, tmp_path):
    bundle = tmp_path / "ccg.json"
    build(small, bundle)
    (small / "enumeration.lock").unlink()
    for path in (bundle, tmp_path / "other.json"):
        with pytest.raises(SourceError, match=r"version 1\.2\.0, is missing \[CCG-E210\]"):
            built_files(small, path)
    assert not (small / "enumeration.lock").exists()


def test_every_changed_row_is_named_by_code_and_node(small):
    other = {"164889003": "164890007", "164890007": "164889003"}
    for name in ("challenge.tsv", "routing.sssom.tsv"):
        text = (small / name).read_text(encoding="utf-8")
        swapped = re.sub("|".join(other), lambda match: other[match[0]], text)
        (small / name).write_text(swapped, encoding="utf-8")
    messages = [f.message for f in ecg_ontology.validate(small) if f.id == "CCG-E206"]
    assert "base: 164889003 skos:exactMatch AF was removed" in messages
    assert "base: 164889003 skos:exactMatch AFL was added" in messages


def test_a_patch_may_not_route_a_code_otherwise(small):
    raise_version(small, "1.2.1")
    assert ids(small) == set()
    edit(small / "routing.scp.sssom.tsv", "exactMatch\\tcardiac:WPW", "closeMatch\\tcardiac:WPW")
    assert ids(small) == {"CCG-E206"}


@pytest.mark.parametrize("name", ["scp.sssom.tsv", "routing.scp.sssom.TSV", "routing-scp.tsv"])
def test_a_table_that_is_called_otherwise_is_named(small, name):
    (small / "routing.scp.sssom.tsv").rename(small / name)
    findings = ecg_ontology.validate(small)
    assert [f.where for f in findings if f.id == "CCG-W315"] == [name]
    assert "scp: scp:WPW skos:exactMatch WPW was removed" in [f.message for f in findings]


def test_the_version_s_two_statements_agree(small):
    edit(small / "cardiac.ttl", "cardiac/1.2.0>", "cardiac/1.3.0>")
    messages = [f.message for f in ecg_ontology.validate(small) if f.id == "CCG-E015"]
    iri = "https://w3id.org/mar-ecg/cardiac/1.3.0"
    assert messages == [f"cardiac has contradicting versions: versionIRI {iri}, versionInfo '1.2.0'"]


def test_the_graph_s_own_hash_is_what_it_was(onto):
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
        ('"version": "1.2.0"', '"version": "1.2.1"'),
        ('"bundle_sha256": "[0-9a-f]{64}",', ""),
    ],
)
def test_a_bundle_that_was_changed_or_has_no_hash_is_refused(bundle, old, new):
    edit(bundle, old, new)
    with pytest.raises(SourceError, match="was changed after it was written"):
        ecg_ontology.load(bundle)


def test_the_package_s_bundle_a_saved_one_and_the_sources_have_one_hash(onto, bundle, sources):
    stated = json.loads(bundle.read_text(encoding="utf-8"))
    hashes = {each.bundle_sha256 for each in (onto, ecg_ontology.load(bundle), ecg_ontology.load(sources))}
    assert hashes == {stated["bundle_sha256"]}


def test_a_bundle_is_loaded_whatever_else_its_version_wrote_if_its_bytes_have_the_stated_hash(onto, bundle):
    content = json.loads(bundle.read_text(encoding="utf-8"))
    del content["bundle_sha256"]
    for part in (content, content["concepts"][0], content["relations"][0], content["mappings"][0]):
        part["of another version"] = ["unknown"]
    del content["errata"]
    text = json.dumps(content, indent=1)
    stated = hashlib.sha256(text.encode()).hexdigest()
    bundle.write_text(f'{{\n "bundle_sha256": "{stated}",{text[1:]}\n', encoding="utf-8")
    loaded = ecg_ontology.load(bundle)
    assert (loaded.sha256, loaded.rows, loaded.nodes) == (onto.sha256, onto.rows, onto.nodes)
    bundle.write_bytes(bundle.read_bytes().replace(b'"unknown"', b'"unknowm"', 1))
    with pytest.raises(SourceError, match="was changed after it was written"):
        ecg_ontology.load(bundle)
