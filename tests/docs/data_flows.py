"""Writes docs/data-flows.md: what a record, a code, a recipe and a task become, from the code's own words.

python -m tests.docs.data_flows
"""

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
        "marecg.ecg.batch:Batch",
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
        "marecg.ecg.batch:Supervision",
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
        "marecg.evaluate.evaluation:evaluate",
        "marecg.evaluate.probe.protocol:Protocol",
        "marecg.evaluate.scores.results:Report",
        "marecg.evaluate.table:measured",
    ),
}
"""What each is handed to, in this order, as module:name."""


def page() -> str:
    """The page: a picture per flow, each step with the first sentence of its docstring."""
    text = (
        "# How data flows\n\n"
        "Four trips through the code, each downwards and without a way back. The sentences are the code's:\n"
        "`python -m tests.docs.data_flows` writes this page.\n"
    )
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
