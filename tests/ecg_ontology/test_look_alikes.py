"""What isn't what it seems: letters, statements, IRIs, terms that went, vocabularies of others."""

import pytest
from tests.ecg_ontology.changes import edit

import ecg_ontology
from ecg_ontology import Ontology
from ecg_ontology.base.errors import SourceError
from ecg_ontology.validation.release import Release
from ecg_ontology.validation.snomed import SNOMED, Reviewed


def ids(small):
    return {finding.id for finding in ecg_ontology.validate(small, "curated")}


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("Vorhof\u200bflimmern", "CCG-E103"),
        ("Vorhof\xadflimmern", "CCG-E103"),
        ("\u202enoitallirbif", "CCG-E103"),
        ("\uff21trial fibrillation", "CCG-E104"),
    ],
    ids=["no width", "soft hyphen", "turned", "full width"],
)
def test_a_name_that_only_looks_like_another_is_refused(small, name, rule):
    at = ":AFL a ccg:Leaf ;\n"
    edit(small / "cardiac.ttl", (at, f'{at}    skos:altLabel "{name}"@en ;\n'))
    assert rule in ids(small)


def test_letters_of_formulas_and_of_other_languages_are_taken(small):
    at = ":AFL a ccg:Leaf ;\n"
    names = ("мерцание предсердий", "β-blocker flutter", "心房扑动 II", "Flutter 5 µV")
    stated = "".join(f'    skos:altLabel "{name}" ;\n' for name in names)
    edit(small / "cardiac.ttl", (at, f"{at}{stated}"))
    assert not {"CCG-E103", "CCG-E104"} & ids(small)


STATEMENTS = (
    *("owl:equivalentClass :LBBB", "owl:sameAs :LBBB"),
    *("owl:disjointWith :Rhythm", "dcterms:isReplacedBy :AF"),
)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_that_contradicts_the_graph_is_a_finding(small, statement):
    at = ":AFL a ccg:Leaf ;\n"
    edit(small / "cardiac.ttl", (at, f"{at}    {statement} ;\n"))
    assert "CCG-E016" in ids(small)


def test_a_retired_family_has_no_living_findings(small):
    at = ":Rhythm a ccg:Root ;\n"
    edit(small / "cardiac.ttl", (at, f"{at}    owl:deprecated true ;\n"))
    assert "CCG-E016" in ids(small)


def test_an_ontology_has_a_name_wherever_it_lies(tmp_path):
    path = tmp_path / "o.ttl"
    path.write_text(
        "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n@prefix ccg: <https://w3id.org/mar-ecg/ccg#> .\n"
        "<o> a owl:Ontology .\n<o#R> a ccg:Root ; ccg:index 0 .\n",
        encoding="utf-8",
    )
    with pytest.raises(SourceError, match="must have an absolute IRI"):
        ecg_ontology.load(path)


SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix : <https://example.org/lung#> .
<https://example.org/lung> a skos:ConceptScheme .
:Airway a skos:Concept ; skos:prefLabel "Airway"@en ; skos:narrower :Asthma .
:Asthma a skos:Concept ; skos:prefLabel "Asthma"@en, "Asthma bronchiale"@de .
:Allergic a skos:Concept ; skos:prefLabel "Allergic asthma"@en ; skos:broader :Asthma .
"""
OWL = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix : <https://example.org/lung#> . <https://example.org/lung> a owl:Ontology .
:Airway a owl:Class ; rdfs:label "Airway" . :Asthma a owl:Class ; rdfs:subClassOf :Airway .
:Allergic a owl:Class ; rdfs:subClassOf :Asthma .
"""


@pytest.mark.parametrize("text", [SKOS, OWL], ids=["SKOS", "OWL"])
def test_a_hierarchy_of_others_is_read(tmp_path, text):
    path = tmp_path / "lung.ttl"
    path.write_text(text, encoding="utf-8")
    onto = ecg_ontology.load(path)
    assert onto.header.iri == "https://example.org/lung"
    assert [node.abbr for node in onto if node.root] == ["Airway"]
    assert [concept.abbr for concept in onto.ancestors("Allergic")] == ["Airway", "Asthma"]


def test_two_concepts_are_a_hierarchy_and_a_label_of_any_english_stands_before_others(tmp_path):
    two = SKOS.partition(":Allergic")[0].replace('"Asthma"@en,', '"Asthma"@en-GB,')
    (tmp_path / "lung.ttl").write_text(two, encoding="utf-8")
    onto = ecg_ontology.load(tmp_path / "lung.ttl")
    assert [(node.abbr, node.label, node.root) for node in onto] == [
        ("Airway", "Airway", True),
        ("Asthma", "Asthma", False),
    ]


def said(curated: Ontology, **terms: str) -> set[tuple[str, str]]:
    """Rule and code of what a release with these terms is found to say otherwise."""
    codes = [code for code in curated.codes if code.isdecimal()]
    labels = {code: {f"{curated.route(code).label} (finding)"} for code in codes}
    labels |= {code[1:]: {f"{term} (disorder)"} for code, term in terms.items()}
    release = Release(active=dict.fromkeys(codes, True), terms=labels)
    return {(finding.id, finding.subject) for finding in SNOMED.findings(Reviewed(curated, release))}


def test_a_release_with_two_terms_swapped_is_noticed(curated):
    findings = said(curated, c164889003="Atrial flutter", c164890007="Atrial fibrillation")
    assert {("CCG-E405", "164889003"), ("CCG-E405", "164890007")} <= findings


def test_a_release_that_calls_high_voltage_hypertrophy_is_noticed_unless_an_override_says_so(onto, curated):
    hypertrophy = "Left ventricular hypertrophy"
    assert ("CCG-W403", "55827005") in said(onto, c55827005=hypertrophy)
    assert not [rule for rule, code in said(curated, c55827005=hypertrophy) if code == "55827005"]
    assert ("CCG-W403", "55827005") in said(curated, c55827005="Right bundle branch block")
