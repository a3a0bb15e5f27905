"""`marecg report`: from a run folder to report.html and its pictures."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from ecg_ontology import refuse_others, replacing
from marecg.base.errors import CheckpointError, CorpusError, UsageError
from marecg.corpus import trained_on
from marecg.corpus.prepared import Corpus
from marecg.model.mar_ecg import MarEcg
from marecg.recipes import Config
from marecg.report.neighbours import neighbours
from marecg.report.page import Section, page
from marecg.report.probes import beside_others, probes
from marecg.report.records import from_corpus, from_file, record_section
from marecg.report.svg import standalone
from marecg.report.training import origin, prototypes, training


def write_report(
    run: str | Path,
    data: str | Path | None = None,
    records: Sequence[str | Path] = (),
    out: str | Path | None = None,
) -> Path:
    """Write a run's page, and its pictures beside it as SVG.

    Args:
        data: a prepared corpus, to show records and their nearest neighbours; left out where None.
        records: records to show, in any format that is read; of WFDB with or without `.hea`.
        out: the HTML file; its pictures go into a folder of its name. By default report.html of the run, or
            records.html where records are given, so that the run's own page stays.

    Returns:
        The page; at most some megabytes.

    Raises:
        CheckpointError: the folder holds no finished run, or its graph is another than the corpus'.
        CorpusError: `data` isn't a prepared corpus, or an empty one.
        UsageError: the page has no ending, or the folder of its pictures holds other files, say a run.
    """
    run = Path(run)
    page_path = Path(out) if out is not None else run / ("records.html" if records else "report.html")
    pictures = run / "pictures" if out is None and not records else page_path.with_suffix("")
    if pictures == page_path:
        problem = "has no ending, and a folder of that name is for the pictures"
        raise UsageError(problem, where=page_path, remedy="End it in .html")
    refuse_others(pictures, lambda name: name.endswith(".svg"))  # an older page's may be replaced
    corpus = None if data is None else Corpus.open(data)
    if corpus is not None and not len(corpus):
        raise CorpusError(
            "holds no records", where=corpus.folder, remedy="report.json says why nothing was kept"
        )
    model = MarEcg.from_pretrained(run / "model", ontology=None if corpus is None else corpus.ontology())
    config, losses = _config(run)
    sections = list(_sections(run, model, config, losses, corpus, records))
    with replacing(pictures) as temporary:
        temporary.mkdir()
        for figure in (figure for section in sections for figure in section.figures):
            for number, picture in enumerate(figure.pictures, start=1):
                name = figure.name + (f"-{number:02d}" if len(figure.pictures) > 1 else "")
                (temporary / f"{name}.svg").write_text(standalone(picture), encoding="utf-8")
    lead = f"Recipe {config.name}: what the encoder was trained on, what it learned, how well it is read."
    with replacing(page_path) as temporary:
        temporary.write_text(page(run.resolve().name, lead, sections), encoding="utf-8")
    return page_path


def _sections(
    run: Path,
    model: MarEcg,
    config: Config,
    losses: dict[str, str],
    corpus: Corpus | None,
    records: Sequence[str | Path],
) -> Iterator[Section]:
    yield origin(model, config)
    shown = [from_file(path, model.ontology) for path in records]
    if corpus is not None:
        shown += from_corpus(corpus, corpus.ontology(), trained_on.read(run))
    for number, record in enumerate(shown, start=1):
        yield record_section(model, record, number)
    if corpus is not None:
        yield neighbours(model, corpus)
    yield probes(run, model.ontology)
    yield from beside_others(run)
    yield from training(run, losses, len(model.ontology))
    if config.gscl is not None:
        yield prototypes(model, config.gscl.sigma)


def _config(run: Path) -> tuple[Config, dict[str, str]]:
    """The recipe, its objectives installed here or not, and what each loss measures."""
    path = run / "config.json"
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
        config = Config.model_validate(description["config"], context={"elsewhere": True})
        return config, config.captions | dict(description.get("captions", {}))
    except FileNotFoundError as error:
        raise CheckpointError("is missing", where=path, remedy="Name the folder of a finished run") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = " ".join(str(error).split())[:200]
        raise CheckpointError(
            f"can't be used ({problem})", where=path, remedy="Train the run again"
        ) from error
