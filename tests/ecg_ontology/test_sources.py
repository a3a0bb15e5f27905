"""Sources: the same ontology through every form, and one clear line for each kind of broken file."""

import errno
import os
import re
import shutil
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from tests.ecg_ontology.changes import WITHOUT_17_18, edit

import ecg_ontology
from ecg_base import OutputError, UsageError
from ecg_ontology.base.errors import SourceError
from ecg_ontology.curation.building import built_files, stale_files
from ecg_ontology.formats.bundle import bundle_text, read_bundle
from ecg_ontology.formats.sources import read_source
from ecg_ontology.formats.sssom import read_sssom, sssom_text
from ecg_ontology.formats.turtle import turtle_text

AF, AMI = ":AF a ccg:Leaf ;\n    ccg:index 5 ;", ":AMI a ccg:Leaf ;"


def test_the_packaged_bundle_and_the_lock_are_built_from_the_sources(sources):
    package = Path(ecg_ontology.__file__).parent / "data" / "ccg.json"
    assert stale_files(built_files(sources, package)) == []


def test_the_folder_of_sources_loads_as_the_packaged_ontology(onto, sources):
    loaded = ecg_ontology.load(sources)
    assert (loaded.sha256, loaded.nodes, loaded.relations) == (onto.sha256, onto.nodes, onto.relations)
    assert loaded.routes(onto.codes) == onto.routes(onto.codes)


def test_turtle_read_and_written_is_the_same_bytes(sources):
    path = sources / "cardiac.ttl"
    assert turtle_text(read_source(path)) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("table", ["routing", "routing.paper", "routing.scp"])
def test_a_routing_table_read_and_written_is_the_same_bytes(onto, sources, table):
    path = sources / f"{table}.sssom.tsv"
    text = path.read_text(encoding="utf-8")
    slots, _, prefixes = text.partition("#curie_map:\n")
    again = sssom_text(
        read_sssom(path, table),
        metadata=dict(re.findall(r"(?m)^#(\w+): (.*)$", slots)),
        prefixes=dict(re.findall(r'(?m)^#  (\w+): "(.*)"$', prefixes)),
        labels={node.iri: node.label for node in onto.nodes},
    )
    assert again == text


def test_a_saved_ontology_loads_again_with_both_profiles(onto, curated, tmp_path):
    curated.save(tmp_path / "ontology.json")
    for profile in (onto, curated):
        again = ecg_ontology.load(tmp_path / "ontology.json", profile=profile.profile)
        assert again.sha256 == onto.sha256
        assert again.route("698252002") == profile.route("698252002")
    exported = ecg_ontology.export(onto, tmp_path / "b.json")
    assert exported.read_bytes() == (tmp_path / "ontology.json").read_bytes()


def test_the_identity_covers_the_graph_and_not_the_words(onto, folder, revise):
    edit(folder / "routing.sssom.tsv", ("snomedct:426783006\tsinus rhythm", "snomedct:426783006\trhythm"))
    reworded = revise("cardiac.ttl", ('"Atrial fibrillation"@en', '"Atrial fibrillation, any"@en'))
    assert reworded.sha256 == onto.sha256
    changed = revise("cardiac.ttl", *WITHOUT_17_18)
    assert changed.sha256 != onto.sha256
    assert onto.difference(changed) == ("- edge sibling 17 18",)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (AF, AF + "\n    oops", "is not RDF in turtle: line "),
        (AF, AF.replace("5", "6"), "index 6 must belong to one concept, got AF, AFL"),
        ("ccg:subtypeOf :AMI ;", "ccg:subtypeOf :Heart ;", "must join concepts of the graph, got"),
        ("ccg:family :Rhythm ;", "", "must have one family, got none"),
        ("    ccg:index 5 ;\n", "", "AF has no ccg:index"),
        ("ccg:index 5 ;", 'ccg:index "five" ;', "AF has the ccg:index 'five', which isn't a whole number"),
        ("a owl:Ontology ;", "a owl:Thing ;", "has no owl:Ontology header"),
        (AMI, f"{AMI}\n    ccg:subtypeOf :AntMI ;", "AMI → AntMI → AMI|AntMI → AMI → AntMI"),
    ],
)
def test_a_broken_turtle_file_gives_one_line_that_names_file_and_fault(revise, old, new, says):
    with pytest.raises(SourceError, match=says) as caught:
        revise("cardiac.ttl", (old, new))
    assert "cardiac.ttl" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.ttl", "", "must have at least one concept"),
        ("noise.ttl", "\x00\x01 not rdf", "is not RDF"),
        ("latin.ttl", b"\xff\xfe\xfa", "is not RDF"),
        ("bad.json", "{", "isn't an ontology bundle"),
        ("other.json", '{"header": {}}', "isn't an ontology bundle"),
        ("graph.docx", "x", r"must end in \."),
        *((name, None, "nowhere") for name in ("nowhere.ttl", "nowhere.json", "nowhere")),
    ],
)
def test_a_file_that_is_no_ontology_or_not_there_is_refused_in_one_line(tmp_path, name, content, says):
    if content is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SourceError, match=says) as caught:
        ecg_ontology.load(tmp_path / name)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_with_two_graphs_or_none_is_refused(folder, tmp_path):
    shutil.copy(folder / "cardiac.ttl", folder / "second.ttl")
    with pytest.raises(SourceError, match=r"cardiac\.ttl, second\.ttl"):
        ecg_ontology.load(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="must have one graph, got none"):
        ecg_ontology.load(tmp_path / "empty")


def test_arrays_are_exported_as_they_are(onto, tmp_path):
    with np.load(ecg_ontology.export(onto, tmp_path / "ccg.npz")) as arrays:
        np.testing.assert_array_equal(arrays["distances"], onto.distances)
        assert str(arrays["sha256"]) == onto.sha256
        assert arrays["abbr"][25] == "AntMI"
        np.testing.assert_array_equal(arrays["a_hat"], onto.a_hat)


@pytest.mark.parametrize(
    ("name", "error", "problem"),
    [("ccg.xlsx", UsageError, r"\.npz"), ("file/ccg.npz", OutputError, "cannot be written")],
)
def test_an_export_of_unknown_ending_or_to_no_folder_is_refused(onto, tmp_path, name, error, problem):
    (tmp_path / "file").touch()
    with pytest.raises(error, match=problem):
        ecg_ontology.export(onto, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_building_faulty_sources_is_refused_and_names_the_fault(folder, tmp_path):
    row = "snomedct:164889003\t{}\tskos:exactMatch"
    edit(folder / "routing.sssom.tsv", (row.format("atrial fibrillation"), row.format("AF")))
    with pytest.raises(SourceError, match="CCG-E30"):
        built_files(folder, tmp_path / "ccg.json")


def test_a_bundle_without_concepts_cannot_be_loaded(onto, tmp_path):
    path = tmp_path / "empty.json"
    nothing = dict.fromkeys(("concepts", "relations", "mappings"), ())
    path.write_text(bundle_text(onto.draft.model_copy(update=nothing)), encoding="utf-8")
    assert read_bundle(path).concepts == ()
    with pytest.raises(SourceError, match="must have at least one concept"):
        ecg_ontology.load(path)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("enumeration.lock", b"version\t1\nsha256\tx\nnode\t5\n", "line 3 is damaged"),
        ("enumeration.lock", b"# nothing\n", "must have one version, one sha256"),
        ("challenge.tsv", b"a\tb\n1\t2\n", "has no columns code and label"),
        ("challenge.tsv", b"code\tlabel\n1\t\xff\n", "is not UTF-8"),
        ("routing.sssom.tsv", b"\xff", "is not UTF-8"),
        ("errata.ttl", b"no turtle", "is not RDF"),
    ],
)
def test_a_damaged_companion_of_the_graph_is_refused_by_name(folder, name, content, says):
    (folder / name).write_bytes(content)
    with pytest.raises(SourceError, match=says) as caught:
        ecg_ontology.load(folder)
    assert name in str(caught.value)


def test_a_wide_gap_of_indices_is_one_finding(folder):
    edit(folder / "cardiac.ttl", ("ccg:index 39 ;", "ccg:index 900000 ;"))
    gaps = [finding for finding in ecg_ontology.validate(folder) if finding.id == "CCG-E002"]
    assert [finding.subject for finding in gaps] == ["indices 39 to 899999"]


@pytest.mark.parametrize("name", ["cardiac.ttl", "errata.ttl", "routing.sssom.tsv", "enumeration.lock"])
def test_a_pipe_in_a_folder_of_sources_is_not_waited_for(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(SourceError, match=f"{name}: isn't a file"):
        ecg_ontology.load(folder)


def test_a_folder_that_cannot_be_listed_is_one_clear_error(tmp_path, monkeypatch):
    refused = Mock(side_effect=PermissionError(errno.EACCES, "Permission denied"))
    monkeypatch.setattr(Path, "iterdir", refused)
    with pytest.raises(SourceError, match=r"cannot be listed \(Permission denied\)"):
        ecg_ontology.load(tmp_path)
