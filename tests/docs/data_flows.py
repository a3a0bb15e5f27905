"""Writes docs/data-flows.md: what a record, a code, a recipe and a task become, from the code's own words.

python -m tests.docs.data_flows
"""

import tomllib
from importlib import import_module
from operator import attrgetter
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "data-flows.md"
FLOWS = {
    "A record": (
        "marecg.read.discovery:find",
        "marecg.read.record:Candidate",
        "marecg.read.record:Record",
        "marecg.corpus.prepare_record:prepare_record",
        "marecg.corpus.shards:ShardWriter",
        "marecg.corpus.prepared:Corpus",
        "marecg.corpus.batches:BatchStream",
        "marecg.model.batch:Batch",
        "marecg.objectives.views:Views",
        "marecg.train.network:Outcome",
    ),
    "A code": (
        "ecg_ontology:load",
        "ecg_ontology:Ontology.route",
        "ecg_ontology:Ontology.leaf_multi_hot",
        "marecg.corpus.sampling:labels",
        "ecg_ontology:Ontology.soft_targets",
        "marecg.corpus.supervision:CorpusSupervision",
        "marecg.model.batch:Supervision",
        "marecg.objectives.gscl:gscl_loss",
    ),
    "A recipe": (
        "marecg.recipes.overrides:by_name",
        "marecg.recipes.overrides:override",
        "marecg.recipes.schema:Config",
        "marecg.train.run:train",
        "marecg.train.data:supervise",
        "marecg.train.network:Network",
        "marecg.train.lightning_module:Pretraining",
    ),
    "A task": (
        "marecg.evaluate.tasks.registry:task_named",
        "marecg.evaluate.tasks.task:Task",
        "marecg.evaluate.request:Request",
        "marecg.evaluate.evaluation:evaluate",
        "marecg.evaluate.methods.method:FeatureTable",
        "marecg.evaluate.probe.protocol:Protocol",
        "marecg.evaluate.scores.results:Report",
        "marecg.evaluate.table:measured",
    ),
}
"""What each is handed to, in this order, as module:name."""


HEAD = """\
# How data flows

`marecg` has {floors} floors; a room imports only from floors below it, and `make lint` holds that. From the
ground up: `base` has settings and errors, `storage` files at an address, `nn` the parts of the network.
`ecg` turns samples into windows and batches, `model` is what training leaves behind. `read` turns whatever
lies on disk into a record, `corpus` turns records into shards that are read at random, `objectives` turn
passes of the encoder into losses. `recipes` say what a run is, `use` is what a trained encoder is for,
`train` makes one, and `evaluate` judges it. `ecg_ontology` is below all of them and knows no tensor;
`marecg_corpora`, which selects and describes corpora, `marecg_report`, which shows results, `marecg_cli` and
`marecg_research` are above.

Four decisions explain most of what looks odd:

* **A corpus is prepared once.** Every record is resampled, judged and cut to windows beforehand, as
  int16 in memory maps, so that training reads no format, and a run that resumes from a checkpoint goes on
  with the same batches.
* **Supervision is looked up.** Codes become leaves, soft targets and distances by the graph that the corpus
  carries, before the first step; no step routes a code.
* **Views are shared.** Objectives ask for looks of the encoder at one batch; each is computed at most once
  and in the order of asking, so an objective that is added last changes no random draw of those before it.
* **Test is scored once.** A protocol fits on train, chooses on val and may call for test logits a single
  time.

Below, four trips, step by step. A task's name is resolved once and its data are opened once;
`evaluate` gets the opened task, each method turns its recordings into features, and each row of the
report says what it reads of them. The sentences are the code's; `python -m tests.docs.data_flows` writes
this page.
"""


def page() -> str:
    """The page: a picture per flow, each step with the first sentence of its docstring."""
    project = tomllib.loads((PAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (inside,) = (one for one in contracts if one.get("containers") == ["marecg"])
    text = HEAD.format(floors=len(inside["layers"]))
    for title, steps in FLOWS.items():
        flow = "\n   │\n   ▼\n".join(map(_step, steps))
        text += f"\n## {title}\n\n```text\n{flow}\n```\n"
    return text


def _step(step: str) -> str:
    module, _, name = step.partition(":")
    doc = attrgetter(name)(import_module(module)).__doc__ or ""
    return f"{module}.{name}\n   {doc.strip().splitlines()[0]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
