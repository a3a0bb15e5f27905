"""Show example records, and the records with the most similar h_rhythm.

h_rhythm is the encoder's vector of a record. Similarity is the cosine between two vectors. A record's primary
leaf is the finding on which its training target is centred (`Corpus.primary`).

Shapes: B records, K neighbours of each record, D width, N concepts, L samples.
"""

import io
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr

import joblib
import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray
from sklearn.manifold import TSNE

from ecg_ontology import Ontology
from ecg_ontology.views.draw import family_colours
from ecg_records.signal.leads import LEADS
from marecg.corpus.prepared import Corpus
from marecg.embedding.embed import embed
from marecg.model.mar_ecg import MarEcg
from marecg.report.charts import points
from marecg.report.page import Figure, Section, paragraph
from marecg.report.texts import caption
from marecg.report.tracing import strip

GALLERY = 512
"""Maximum number of corpus records on the map and in the search for neighbours."""
QUERIES = 5
NEAREST = 4
FEWEST = 20
"""Minimum number of records for a map."""
SECONDS = 5.0
LEAD = "II"
ALIKE = 0.99
"""Median cosine between records above which the page warns that the encoder hardly distinguishes records."""


def neighbours(model: MarEcg, corpus: Corpus) -> Section:
    """Return a section with records of different leaves, and each record's nearest neighbours."""
    rows = np.unique(np.linspace(0, len(corpus) - 1, min(len(corpus), GALLERY)).astype(int))
    rhythm_BD = embed(model, corpus.signals(rows), fs=corpus.config.fs).rhythm
    unit_BD = rhythm_BD / np.linalg.norm(rhythm_BD, axis=1, keepdims=True)
    cosine_BB: NDArray[np.float32] = unit_BD @ unit_BD.T
    np.fill_diagonal(cosine_BB, np.inf)  # the record itself is always first, despite rounding errors
    nearest_BK = np.argsort(-cosine_BB, axis=1, kind="stable")[:, 1 : NEAREST + 1]
    pictures, notes = [], []
    for query in _of_different_leaves(corpus.primary[rows]):
        for position in (query, *nearest_BK[query].tolist()):
            row = int(rows[position])
            x_L = corpus.signals([row])[0, LEADS.index(LEAD), : corpus.n_valid[row]]
            label = f"Lead {LEAD} of record {corpus.ids[row]}"
            pictures.append(strip(x_L, corpus.config.fs, SECONDS, label))
            cosine = None if position == query else float(cosine_BB[query, position])
            notes.append(_note(corpus, row, int(rows[query]), cosine, model.ontology))
    return Section(
        "Nearest neighbours",
        [
            paragraph(_sharing(corpus.y[rows], nearest_BK)),
            *([paragraph(caption("alike"), "warning")] if np.median(cosine_BB) > ALIKE else []),
            Figure(
                "neighbours",
                pictures,
                caption("neighbours", nearest=NEAREST, records=len(rows), seconds=SECONDS, lead=LEAD),
                notes=notes,
                kind="five",
            ),
            *_map(cosine_BB, corpus.primary[rows], model.ontology),
        ],
    )


def _map(
    cosine_BB: NDArray[np.float32], primary_B: NDArray[np.int64], ontology: Ontology
) -> Iterator[Figure]:
    """Yield a t-SNE map of the records, coloured by family, or nothing for fewer than `FEWEST` records."""
    if len(primary_B) < FEWEST:
        return
    colours = family_colours(ontology)
    family = ["no leaf" if leaf < 0 else ontology.nodes[ontology.families[leaf]].label for leaf in primary_B]
    colour_of = {ontology.nodes[root].label: colours[root] for root in ontology.roots} | {"no leaf": "0.6"}
    distance_BB = np.clip(1 - cosine_BB, 0, 2)
    _count_cores()
    tsne = TSNE(metric="precomputed", init="random", perplexity=min(30, len(distance_BB) / 4), random_state=0)
    picture = points(tsne.fit_transform(distance_BB), family, colour_of, "Map of records by family")
    yield Figure("map", [picture], caption("map", records=len(primary_B)), kind="row")


def _count_cores() -> None:
    """Let joblib count the physical cores without output, and keep the count.

    t-SNE asks joblib for this count. If `lscpu` is missing or fails, joblib would print a traceback.
    """
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        joblib.cpu_count(only_physical_cores=True)


def cosines_to(
    model: MarEcg, corpus: Corpus, rows: NDArray[np.int64], rhythm_D: NDArray[np.float32]
) -> list[tuple[int, float]]:
    """Return each row with the cosine between its record's h_rhythm and `rhythm_D`, largest cosine first."""
    rhythm_BD = embed(model, corpus.signals(rows), fs=corpus.config.fs).rhythm
    lengths_B = np.linalg.norm(rhythm_BD, axis=1) * np.linalg.norm(rhythm_D)
    cosine_B = rhythm_BD @ rhythm_D / np.maximum(lengths_B, 1e-12)
    order = np.argsort(-cosine_B, kind="stable")
    return [(int(rows[position]), float(cosine_B[position])) for position in order]


def _of_different_leaves(primary_B: NDArray[np.int64]) -> list[int]:
    """Return records with different primary leaves. The leaves are spread evenly over all leaves present."""
    leaves, first = np.unique(primary_B, return_index=True)
    first = first[leaves >= 0] if (leaves >= 0).any() else first
    spread = np.unique(np.linspace(0, len(first) - 1, min(QUERIES, len(first))).astype(int))
    return [int(position) for position in first[spread]]


def _sharing(y_BN: NDArray[np.uint8], nearest_BK: NDArray[np.int64]) -> str:
    """Return a sentence with the share of neighbours that have a common leaf, and the share by chance."""
    shared_BB = (y_BN.astype(int) @ y_BN.T.astype(int)) > 0
    labelled = np.flatnonzero(y_BN.any(1))
    if len(labelled) < 2:
        return caption("no_leaves")
    observed = shared_BB[labelled[:, None], nearest_BK[labelled]].mean()
    by_chance = (shared_BB[labelled].sum(1) - 1).mean() / (len(shared_BB) - 1)
    return caption("sharing", near=100 * observed, nearest=NEAREST, chance=100 * by_chance)


def _note(corpus: Corpus, row: int, query: int, cosine: float | None, ontology: Ontology) -> str:
    is_neighbour = cosine is not None
    leaves = [
        Markup("<b>{}</b>").format(ontology.nodes[leaf].abbr)
        if is_neighbour and corpus.y[query, leaf]
        else ontology.nodes[leaf].abbr
        for leaf in np.flatnonzero(corpus.y[row])
    ]
    title = f"{corpus.ids[row]} · {cosine:.3f}" if is_neighbour else corpus.ids[row]
    return Markup("{}<br>{}").format(title, Markup(", ").join(leaves) or "no leaf")
