"""A run as one HTML file: settings, curves, prototypes, neighbours, probes. It opens without a network.

Shapes: N concepts, B records, C leads, L samples, D width.
"""

import base64
import csv
import html
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import ecg_ontology
from ecg_ontology.files import replacing
from marecg import pictures
from marecg.config import LEADS, Config
from marecg.data.dataset import Corpus
from marecg.errors import CheckpointError
from marecg.evaluate.results import Report
from marecg.inference import embed
from marecg.model import MarEcg

QUERIES = 5
NEAREST = 4
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse}td,th{padding:.2rem .8rem;border-bottom:1px solid #ddd;text-align:left}"
    "img{max-width:100%}h2{margin-top:2.5rem}"
)


def write_report(run: str | Path, data: str | Path | None = None) -> Path:
    """Write report.html into a run folder, and its pictures beside it as PNG.

    Args:
        run: a finished run.
        data: a prepared corpus, to show records and their nearest neighbours; left out where None.

    Raises:
        CheckpointError: the folder holds no finished run.
        CorpusError: `data` is no prepared corpus.
    """
    run = Path(run)
    model = MarEcg.from_pretrained(run / "model")
    ontology = ecg_ontology.load(run / "model" / "ontology.json")
    config = Config.model_validate(json.loads((run / "config.json").read_text(encoding="utf-8"))["config"])
    sections = [("Training", pictures.curves(_columns(run / "metrics.csv")))]
    if (run / "monitors.csv").exists():
        sections.append(("Signs of collapse", pictures.curves(_columns(run / "monitors.csv"))))
    if config.gscl is not None:
        names = [node.abbr for node in ontology.nodes]
        cosines = pictures.prototypes(model.prototypes.numpy(), ontology.distances, names, config.gscl.sigma)
        sections.append(("Prototypes beside the graph", cosines))
    if data is not None:
        corpus = Corpus.open(data)
        sections += [
            ("A record of the corpus", pictures.ecg(corpus.signals([0])[0], corpus.config.fs, LEADS)),
            ("Records and their nearest by h_rhythm", _retrieval(model, corpus, ontology)),
        ]
    body = [f"<h1>{html.escape(run.name)}: recipe {html.escape(config.name)}</h1>"]
    for title, figure in sections:
        png = _png(figure)
        name = title.lower().replace(" ", "-")
        with replacing(run / "pictures" / f"{name}.png") as temporary:
            temporary.write_bytes(png)
        image = base64.b64encode(png).decode()
        body.append(f'<h2>{title}</h2><img alt="{title}" src="data:image/png;base64,{image}">')
    for path in sorted((run / "probe").glob("*.json")):
        body.append(_probe_table(Report.model_validate_json(path.read_text(encoding="utf-8"))))
    settings = html.escape(json.dumps(config.model_dump(mode="json"), indent=2))
    body.append(f"<h2>Settings</h2><pre>{settings}</pre>")
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(run.name)}</title>'
        f"<style>{STYLE}</style>{''.join(body)}</html>"
    )
    with replacing(run / "report.html") as temporary:
        temporary.write_text(page, encoding="utf-8")
    return run / "report.html"


def _columns(path: Path) -> dict[str, list[float]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except FileNotFoundError as error:
        raise CheckpointError("is missing", where=path, remedy="Name the folder of a finished run") from error
    return {name: [float(row[name]) for row in rows] for name in rows[0]}


def _retrieval(model: MarEcg, corpus: Corpus, ontology: ecg_ontology.Ontology) -> Figure:
    """Records of as many different leaves as there are rows, each with the nearest others by cosine."""
    gallery = np.arange(min(len(corpus), 256))
    rhythm_BD = embed(model, corpus.signals(gallery), fs=corpus.config.fs).rhythm
    unit_BD = rhythm_BD / np.linalg.norm(rhythm_BD, axis=1, keepdims=True)
    cosine_BB = unit_BD @ unit_BD.T
    _, queries = np.unique(corpus.primary[gallery], return_index=True)
    shown: list[int] = []
    captions: list[list[str]] = []
    for query in queries[-QUERIES:]:
        nearest = [place for place in np.argsort(-cosine_BB[query]) if place != query][:NEAREST]
        shown += [query, *nearest]
        captions.append([_leaves(corpus, row, ontology) for row in (query, *nearest)])
    return pictures.neighbours(
        corpus.signals(shown), corpus.config.fs, captions, lead=LEADS.index("II"), name="II"
    )


def _leaves(corpus: Corpus, row: int, ontology: ecg_ontology.Ontology) -> str:
    return " ".join(ontology.nodes[leaf].abbr for leaf in np.flatnonzero(corpus.y[row])) or "no leaf"


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


def _probe_table(report: Report) -> str:
    rows = [
        (
            cell.method,
            f"{100 * cell.fraction:g} %",
            str(cell.records),
            f"{100 * cell.macro_auc.mean:.2f}"
            + (f" ± {100 * cell.macro_auc.sd:.2f}" if cell.macro_auc.sd else ""),
        )
        for cell in report.cells
    ]
    return f"<h2>Probe: {html.escape(report.task)}, {html.escape(report.protocol)}</h2>" + _table(
        ("features", "share", "records", "macro AUC"), rows
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"
