"""Continued pretraining: what a run remembers of the weights that it began from, and how it goes on."""

import json
import shutil
import signal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.marecg.train.runs import killed, rows

from marecg.corpus import trained_on
from marecg.corpus.prepared import Corpus
from marecg.errors import UsageError
from marecg.model.card import BeganFrom, Provenance
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256
from marecg.recipes import Config
from marecg.recipes.overrides import override
from marecg.train.provenance import united
from marecg.train.run import train


@pytest.fixture(scope="module")
def unbroken(archive: Path, micro: Config, given: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unbroken") / "run"
    train(micro, archive, folder, start=given)
    return folder


def test_the_run_says_what_it_began_from_without_the_path_to_it(unbroken, given):
    began = json.loads((unbroken / "config.json").read_text())["began_from"]
    assert (began["name"], began["sha256"]) == ("earlier", weights_sha256(MarEcg.from_pretrained(given)))
    for name in ("config.json", "model/config.json", "model/README.md"):
        text = (unbroken / name).read_text()
        assert str(given.parent) not in text
        assert began["sha256"] in text


def test_model_and_card_count_the_records_of_both(unbroken, given):
    its, before = (MarEcg.from_pretrained(folder).provenance for folder in (unbroken, given))
    sha256 = weights_sha256(MarEcg.from_pretrained(given))
    assert its.began_from == BeganFrom(name="earlier", sha256=sha256, provenance=before)
    assert (its.steps, its.records, its.others) == (6, before.records + 3, before.others + 2)
    assert its.sources == {**before.sources, "georgia": 1}
    assert its.support == {**before.support, "AF": before.support["AF"] + 2}
    row = f"| began from | earlier: recipe micro, 2 optimiser steps, {before.records} records; SHA-256"
    assert row in (unbroken / "model" / "README.md").read_text(encoding="utf-8")


def test_a_collection_is_without_codes_only_where_neither_read_them():
    def made(sources: dict[str, int], *without: str, **more: object) -> Provenance:
        counts = {"steps": 1, "records": sum(sources.values()), "sources": sources}
        return Provenance(recipe="r", without_codes=without, **counts, **more)

    own = made({"ptb": 1, "ptbxl": 2, "georgia": 4}, "ptb", "ptbxl", support={"AF": 1})
    before = made({"ptb": 8, "ptbxl": 16, "ningbo": 32}, "ptb", "ningbo", support={"AF": 2})
    both = united(own, BeganFrom(name="w", sha256="0", provenance=before))
    assert both.sources == {"ptb": 9, "ptbxl": 18, "georgia": 4, "ningbo": 32}
    assert both.without_codes == ("ningbo", "ptb")
    assert (both.records, both.support) == (63, {"AF": 3})
    assert both.signals is None
    first, second = (each.model_copy(update={"signals": "s"}) for each in (before, own))
    again = united(second, BeganFrom(name="w", sha256="0", provenance=first))
    assert (again.records, again.sources, again.support) == (56, second.sources, {"AF": 2})
    assert again.signals == "s"
    unknown = united(own, BeganFrom(name="w", sha256="0"))
    assert (unknown.records, unknown.support) == (7, None)


def test_what_it_was_trained_on_is_what_both_were(unbroken, given, archive):
    both, before = trained_on.read(unbroken), trained_on.read(given)
    assert before.hashes < both.hashes
    assert len(both.hashes - before.hashes) == 3
    assert both.identities == before.identities | {"georgia/E00007"}
    assert both.complete
    assert (unbroken / trained_on.FILE).stat().st_mode & 0o007 == 0


def test_a_record_that_both_trainings_read_is_listed_once(given, corpus_folder, tmp_path):
    trained_on.write(Corpus.open(corpus_folder), tmp_path, given)
    both, before = (pq.read_table(run / trained_on.FILE) for run in (tmp_path, given))
    assert both.equals(before)
    renamed = before.set_column(0, "identity", pa.array([f"georgia/{row}" for row in range(len(before))]))
    renamed = renamed.replace_schema_metadata(before.schema.metadata)
    (tmp_path / "renamed").mkdir()
    pq.write_table(renamed, tmp_path / "renamed" / trained_on.FILE)
    trained_on.write(Corpus.open(corpus_folder), tmp_path, tmp_path / "renamed")
    assert len(pq.read_table(tmp_path / trained_on.FILE)) == 2 * len(before)


def test_weights_without_a_list_leave_the_run_without_a_whole_one(archive, micro, given, tmp_path, caplog):
    shutil.copytree(given / "model", tmp_path / "sent")
    train(override(micro, ["train.max_steps=1"]), archive, tmp_path / "run", start=tmp_path / "sent")
    assert "sent does not list all records" in caplog.text
    train(override(micro, ["train.max_steps=1"]), archive, tmp_path / "again", start=tmp_path / "run")
    for run in ("run", "again"):
        listed = trained_on.read(tmp_path / run)
        assert (listed.complete, len(listed.hashes)) == (False, 3)


def test_killed_and_resumed_without_weights_it_is_the_unbroken_run(archive, micro, given, unbroken, tmp_path):
    run = tmp_path / "run"
    assert killed(run, 3, lambda out: train(micro, archive, out, start=given)) == -signal.SIGKILL
    with pytest.raises(UsageError, match=r"was started from earlier \(SHA-256 \w{8}\), got run"):
        train(micro, archive, run, start=unbroken)
    train(micro, archive, run, resume=True)
    assert rows(run) == rows(unbroken)
    for name in ("model/model.safetensors", trained_on.FILE, "config.json"):
        assert (run / name).read_bytes() == (unbroken / name).read_bytes(), name
    its, whole = (MarEcg.from_pretrained(folder).provenance for folder in (run, unbroken))
    assert its.model_copy(update={"seconds": whole.seconds, "resumed": False}) == whole


def test_a_run_without_a_checkpoint_asks_for_the_weights_again_and_no_other_weights_are_taken(
    archive, corpus_folder, micro, given, unbroken, tmp_path
):
    shutil.copytree(unbroken, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    with pytest.raises(UsageError, match="was started from earlier, but has no checkpoint yet"):
        train(micro, archive, tmp_path / "run")
    config = override(micro, ["train.seed=1", "train.max_steps=2"])
    with pytest.raises(UsageError, match="was started from random weights, got run"):
        train(config, corpus_folder, given, start=unbroken)
