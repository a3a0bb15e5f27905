"""An export replaces what an export wrote, and nothing else."""

import json
import os

import networkx
import numpy as np
import pytest

import ecg_ontology
from ecg_base import OutputError, UsageError
from ecg_ontology import Ontology
from ecg_ontology.views.browse import write_page
from ecg_ontology.views.draw import draw_graph
from ecg_ontology.views.exports import turtle_comments

FORMS = ("npz", "json", "ttl", "owl", "nt")
FILES, VIEWS = tuple(f"ccg.{form}" for form in FORMS), ("ccg.sssom.tsv", "ccg.svg")


def everything_in(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", [*FILES, *VIEWS, "fhir"])
def test_an_export_is_replaced_by_the_next_one(onto, tmp_path, name):
    ecg_ontology.export(onto, tmp_path / name)
    first = everything_in(tmp_path)
    ecg_ontology.export(onto, tmp_path / name)
    assert everything_in(tmp_path).keys() == first.keys()


def test_an_export_to_an_address_makes_no_folder_of_its_name(onto, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"^s3://bucket/o\.ttl: must be a local path, got an address"):
        ecg_ontology.export(onto, "s3://bucket/o.ttl")
    assert not list(tmp_path.iterdir())


def folder_with(name, text):
    """A maker of a folder with a file of somebody else's."""

    def make(path):
        path.mkdir()
        (path / name).write_text(text, encoding="utf-8")

    return make


own_table = folder_with("patients.csv", "name")
supplement = {"url": "https://x.org/y", "supplements": ecg_ontology.load().header.iri}


def link_to_a_folder(path):
    own_table(path.with_name("mine"))
    path.symlink_to("mine")


def exported(onto):
    """A maker of an export of another ontology."""
    return lambda path: ecg_ontology.export(onto, path)


LUNG = Ontology.from_networkx(networkx.DiGraph([("COPD", "Airway")]), "https://example.org/lung")
DRAFT = ecg_ontology.load().draft
BELOW = Ontology(
    DRAFT.model_copy(
        update={"header": DRAFT.header.model_copy(update={"iri": f"{DRAFT.header.iri}/control/flat"})}
    )
)
"""An ontology of another IRI that begins with the IRI of the packaged one."""


def commented(path):
    text = ecg_ontology.export(ecg_ontology.load(), path).read_text(encoding="utf-8")
    path.write_text(text + "# ask the cardiologist\n", encoding="utf-8")


OWN_WORK = {
    ".ttl": "<https://x.org/y> <http://www.w3.org/2002/07/owl#imports>\n <IRI> .",
    ".nt": "<https://x.org/y> <http://www.w3.org/2004/02/skos/core#inScheme> <IRI> .",
    ".json": '{"study": "mine", "ontology": "IRI"}',
}


def about_ours(path):
    iri = ecg_ontology.load().header.iri
    path.write_text(OWN_WORK[path.suffix].replace("IRI", iri), encoding="utf-8")


def text(path):
    path.write_text("#mapping_set_id: a year of work", encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "make", "says"),
    [
        ("mydata.fhir", own_table, "holds patients.csv, which would be lost"),
        ("mydata.fhir", folder_with("CodeSystem-a.json", '{"url": "city"}'), "isn't an export of"),
        ("mydata.fhir", link_to_a_folder, "holds patients.csv"),
        ("mydata.fhir", text, "must be a folder, got a file"),
        *((name, text, "lost") for name in (*FILES, *VIEWS)),
        ("ccg.npz", lambda path: np.savez(path, features=np.zeros(3)), "isn't an export of"),
        *((f"ccg.{form}", exported(LUNG), "isn't an export of https://w3id") for form in (*FORMS, "fhir")),
        *((f"ccg.{form}", exported(BELOW), "isn't an export of https://w3id") for form in FORMS),
        *((f"ccg{ending}", about_ours, "isn't an export of") for ending in OWN_WORK),
        ("fhir", folder_with("CodeSystem-mine.json", json.dumps(supplement)), "would be lost"),
        ("fhir", folder_with("thesis.json", "{}"), "thesis"),
        ("ccg.json", own_table, "isn't a file"),
        ("ccg.json", os.mkfifo, "isn't a file"),
        ("ccg.ttl", commented, "1 comments .* line .*: # ask the cardiologist"),
    ],
)
def test_what_is_no_export_of_this_ontology_stays_as_it_is(onto, tmp_path, name, make, says):
    make(tmp_path / name)
    before = everything_in(tmp_path)
    with pytest.raises(UsageError, match=says):
        ecg_ontology.export(onto, tmp_path / name)
    assert everything_in(tmp_path) == before


def test_a_link_to_a_folder_of_resources_is_not_replaced_by_a_folder(onto, tmp_path):
    ecg_ontology.export(onto, tmp_path / "real.fhir")
    (tmp_path / "link.fhir").symlink_to("real.fhir")
    with pytest.raises(OutputError, match="is a link to a folder"):
        ecg_ontology.export(onto, tmp_path / "link.fhir")
    assert (tmp_path / "link.fhir" / "CodeSystem-cardiac.json").is_file()
    assert {path.name for path in tmp_path.iterdir()} == {"real.fhir", "link.fhir"}


def test_a_comment_is_told_from_a_hash_within_a_literal_a_name_or_a_path():
    text = '<#a> <#b> "#1", """a\n#2""", x:\\#3, \'#4\' . #5\n  # 6'
    assert turtle_comments(text) == [(2, "#5"), (3, "# 6")]


@pytest.mark.parametrize("name", ["ccg.npz", "ccg.json"])
def test_an_export_is_as_readable_as_any_file_that_the_user_makes(onto, tmp_path, name):
    (tmp_path / "plain").touch()
    ecg_ontology.export(onto, tmp_path / name)
    assert (tmp_path / name).stat().st_mode == (tmp_path / "plain").stat().st_mode


PICTURES = [(draw_graph, f"thesis.{ending}") for ending in ("svg", "png", "pdf")]
SAVED = [(Ontology.save, "thesis.docx"), (Ontology.save, "ontology.json"), (write_page, "onto.html")]


@pytest.mark.parametrize(("write", "name"), [*SAVED, *PICTURES])
def test_a_picture_a_page_or_a_bundle_replaces_its_like_alone(tmp_path, write, name):
    path = tmp_path / name
    write(LUNG, path)
    write(LUNG, path)
    path.write_text("a year of work", encoding="utf-8")
    with pytest.raises(UsageError, match="would be lost"):
        write(LUNG, path)
    assert path.read_text(encoding="utf-8") == "a year of work"
