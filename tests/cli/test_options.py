"""Every option of both programs reaches what the command asks: none is taken and forgotten."""

import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.cli.calls import reached

from ecg_ontology.curation.routing_file import Decision
from ecg_ontology.loading import PACKAGED
from ecg_synth import QUIRKS
from marecg.base.config import CorpusConfig
from marecg.evaluate.request import Request, protocol_named
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import Folds
from marecg.read.arrays.array_layout import Layout
from marecg.recipes import by_name
from marecg.use.classifying.tuning import Tuning
from marecg.use.embedding.embed_records import Shard
from marecg_research.baselines import minirocket

ARRAYS = "--fs 250 --set array.leads=II,V1 --set array.units=adc --set array.gain=200 --set array.key=ecg"
LAYOUT = Layout(250, ("II", "V1"), "adc", 200, "ecg")
PARALLEL = {"jobs": 3, "cluster": "tcp://here:1"}
RULE, DIFF = "--sigma 0.5 --rule most-specific", f"ecgonto diff '{PACKAGED}' '{PACKAGED}'"
RULED = {"sigma": 0.5, "rule": "most-specific"}
ASKED: list[tuple[str, str, dict[str, Any]]] = [
    (
        "synth --out x --records 7 --seed 3 --diagnosis AF --diagnosis PVC --noise 0.5 --label-noise 0.25 "
        "--quirk all",
        "ecg_synth.write_corpus",
        {"out": Path("x"), "records": 7, "seed": 3, "diagnoses": ("AF", "PVC")}
        | {"noise": 0.5, "label_noise": 0.25, "quirks": tuple(QUIRKS)},
    ),
    (
        f"prepare a b --out x --ontology g.ttl --profile curated --set zero_limit=0.5 --select paper "
        f"{ARRAYS} --jobs 3 --cluster tcp://here:1",
        "marecg.corpus.prepare.prepare",
        {"sources": ["a", "b"], "out": "x", "ontology": "g.ttl", "profile": "curated", "codes": None}
        | {"config": CorpusConfig(zero_limit=0.5), "only": ("ningbo", "georgia", "ptb"), "layout": LAYOUT}
        | PARALLEL,
    ),
    (
        "prepare a --out x --codes t.csv --set codes.id_column=who --set codes.code_column=what "
        "--set codes.patient_column=whose "
        "--set codes.vocabulary=omop --set codes.mapping=m.sssom.tsv --set codes.concepts=c.csv",
        "ecg_ontology.read_code_table",
        {"path": Path("t.csv"), "id_column": "who", "code_column": "what", "patient_column": "whose"}
        | {"vocabulary": "omop", "mapping": Path("m.sssom.tsv"), "concepts": Path("c.csv")},
    ),
    ("audit x --against a --against b", "marecg_corpora.audit.audit", {"against": ["a", "b"]}),
    ("data get georgia --out x --verify", "marecg_corpora.download.get", {"verify": True, "base": None}),
    ("data get georgia --out x --mirror file:///m", "marecg_corpora.download.get", {"base": "file:///m"}),
    (
        "train --data c --out x --fresh --log tensorboard --log mlflow --recipe tiny --set train.lr=0.5",
        "marecg.train.run.train",
        {"data": Path("c"), "out": Path("x"), "start": None, "resume": False}
        | {"loggers": ["tensorboard", "mlflow"]},
    ),
    ("train --data c --out x --resume", "marecg.train.run.train", {"resume": True, "loggers": ()}),
    ("train --data c --out x", "marecg.train.run.train", {"resume": None, "config": by_name("tiny")}),
    (
        "train --data c --out x --from w --recipe tiny --set train.lr=0.5",
        "marecg.train.warm_start.recipe_for",
        {"given": "w", "recipe": "tiny", "assignments": ["train.lr=0.5"]},
    ),
    ("demo --out x", "marecg_report.demo.demo", {"out": Path("x"), "records": 480, "steps": 300}),
    (
        f"embed run in --out x/ {ARRAYS} --patch --readout wide --set batch_size=5 --set part_records=9 "
        "--shard 2/3 --jobs 3 --cluster tcp://here:1",
        "marecg.use.embedding.embed_records.embed_records",
        {"run": "run", "inputs": ["in"], "out": "x/", "layout": LAYOUT, "patches": True, "readout": "wide"}
        | {"batch_size": 5, "part_records": 9, "shard": Shard(2, 3), **PARALLEL},
    ),
    (
        f"embed run in --out x.npz {ARRAYS} --patch --readout beats --set batch_size=5 --jobs 2",
        "marecg.use.embedding.embed_records.embed_records",
        {"layout": LAYOUT, "patches": True, "readout": "beats", "batch_size": 5, "jobs": 2},
    ),
    ("export run --out x.pt2 --to torch", "marecg.use.export.export", {"to": "torch", "out": Path("x.pt2")}),
    (
        "neighbours e r --top 9 --readout wide",
        "marecg.use.neighbours.neighbours",
        {"top": 9, "readout": "wide", "record": "r", "embeddings": "e"},
    ),
    (
        "report run --data c",
        "marecg_report.run_page.write_report",
        {"run": Path("run"), "data": Path("c"), "out": None},
    ),
    (
        "report run a --out x.html --data c --lang de",
        "marecg_report.record_page.write_record",
        {"run": "run", "record": "a", "data": Path("c"), "language": "de", "out": Path("x.html")},
    ),
    (
        "classify judge run --root r --task cpsc2018 --fraction 0.5 --layers head --layers last:2 --seeds 4 "
        "--set folds=1,2,3 --set steps=6 --set patience=8 --set batch_size=7 --set lr=0.5 "
        "--set balanced=true --set readout=wide --out x",
        "marecg.evaluate.finetune.finetune",
        {"run": "run", "task": "cpsc2018", "root": Path("r"), "fractions": (0.5,), "seeds": 4}
        | {"how": [Tuning(each, 6, 7, 0.5, patience=8, balanced=True) for each in ("head", "last:2")]}
        | {"folds": (Folds.of("1,2,3"),), "out": Path("x")},
    ),
    ("table a --protocol merl", "marecg.evaluate.table.measured", {"runs": [Path("a")], "protocol": "merl"}),
    (
        "table a b --compare delong --task cpsc2018 --protocol merl",
        "marecg.evaluate.scores.predictions.load",
        {"path": Path("a/probe/cpsc2018-merl.npz")},
    ),
    (
        "ablate tiny tiny-c1 --data c --out x --root r --seeds 3 --equal flops --equal records "
        "--records 50 --set probe.fractions=0.5 --set probe.seeds=4 --set probe.folds=1-5,6,7 "
        "--set probe.resamples=60 --set probe.readout=wide --set train.lr=0.5 --jobs 2 --log wandb",
        "marecg_research.ablate.ablate",
        {"recipes": ["tiny", "tiny-c1"], "data": Path("c"), "out": Path("x"), "seeds": 3, "jobs": 2}
        | {"request": Request((0.5,), 4, readout="wide", folds=(Folds.of("1-5,6,7"),), resamples=60)}
        | {"equal": ["flops", "records"], "records": 50, "tasks": {task_named("ptbxl-super"): Path("r")}}
        | {"settings": ["train.lr=0.5"], "loggers": ["wandb"]},
    ),
    (
        "ablate --vary gscl.sigma=1,2 --data c --out x --root r --task cpsc2018 --seeds 3 "
        "--jobs 2 --log wandb --set train.lr=0.5",
        "marecg_research.ablate.ablate",
        {"tasks": {task_named("cpsc2018"): Path("r")}, "seeds": 3, "jobs": 2, "loggers": ["wandb"]},
    ),
    (f"ecgonto explain 164889003 {RULE}", "ecg_ontology.explain_codes", {"codes": ["164889003"], **RULED}),
    (f"ecgonto target 164889003 {RULE}", "ecg_ontology.explain_codes", {"codes": ["164889003"], **RULED}),
    (f"{DIFF} {RULE}", "ecg_ontology.compare", RULED),
    ("ecgonto validate ontology --profile curated", "ecg_ontology.validate", {"profile": "curated"}),
    ("ecgonto validate --engine reasoner", "ecg_ontology.validation.owl.consistency", {}),
]
NAMES = [line.partition(" -")[0][:40] for line, *_ in ASKED]


@pytest.mark.parametrize(("line", "target", "expected"), ASKED, ids=NAMES)
def test_what_is_asked_is_what_is_done(line, target, expected, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    asked = reached(line, target)
    assert {name: asked[name] for name in expected} == expected


def test_a_value_that_is_set_is_in_the_recipe_or_in_each_of_several():
    line = "{} --data c --out x --set train.lr=0.5"
    asked = reached(line.format("train"), "marecg.train.run.train")
    assert asked["config"].train.lr == 0.5
    line = line.format("ablate --vary gscl.sigma=1,2 --root r")
    asked = reached(line, "marecg_research.ablate.ablate")
    assert [(recipe.gscl.sigma, recipe.train.lr) for recipe in asked["recipes"]] == [(1, 0.5), (2, 0.5)]


def test_a_probe_asks_what_it_was_asked_to():
    line = (
        "probe a b --task ptbxl-form --task cpsc2018 --root r --root cpsc2018=s --fraction 0.5 "
        "--seeds 4 --protocol merl --set splits=m --features f=f.npz "
        "--set readout=wide --out x --set feature_cache=k"
    )
    asked = reached(line, "marecg.evaluate.probes.probe_many")
    assert asked["runs"] == ["a", "b"]
    roots = {task.name: root for task, root in asked["tasks"].items()}
    assert roots == {"ptbxl-form": Path("r"), "cpsc2018": Path("s")}
    assert (asked["out"], asked["features_in"]) == (Path("x"), Path("k"))
    assert asked["features"] == {"f": Path("f.npz")}
    assert asked["request"] == Request((0.5,), 4, protocol_named("merl"), readout="wide", splits=Path("m"))
    line = "probe a --root r --set folds=1-5,6,7 --baseline minirocket"
    asked = reached(line, "marecg.evaluate.probes.probe_many")
    request = Request(baselines=(minirocket,), folds=(Folds.of("1-5,6,7"),))
    assert asked["request"] == request


def test_a_code_is_added_with_all_that_is_given_of_it(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    about = "--author Me --comment why --predicate skos:broadMatch --table icd10"
    line = f"ecgonto add-code icd10:I48.0 label AF {about}"
    (decision,) = reached(line, "ecg_ontology.curation.revise.apply_decisions")["decisions"]
    code = {"table": "icd10", "code": "icd10:I48.0", "label": "label", "node": "AF"}
    why = {"predicate": "skos:broadMatch", "comment": "why", "reviewer": "Me"}
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    assert decision == Decision(decision="add", date=today, **code, **why)
