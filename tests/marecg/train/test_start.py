"""Continued pretraining: what a run begins with, what it remembers of it, and what it refuses."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from tests.marecg.made_records import make_ecg, make_record
from tests.marecg.train.runs import KILLED, rows
from torch.nn.functional import layer_norm, normalize

import ecg_ontology
from marecg.corpus import trained_on
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.errors import CheckpointError, ConfigError, InputError, UsageError
from marecg.model.card import BeganFrom, Provenance
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256
from marecg.objectives.objective import Objective
from marecg.overrides import override
from marecg.recipes import RECIPES, Config, by_name
from marecg.train.lightning_module import Pretraining
from marecg.train.network import Network
from marecg.train.provenance import united
from marecg.train.run import train
from marecg.train.start import recipe_for

ONTOLOGY = ecg_ontology.load()
FOLLOWING = [name for name in RECIPES if name.startswith("tiny-")]


@pytest.fixture(scope="module")
def given(corpus_folder: Path, micro: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of another seed."""
    folder = tmp_path_factory.mktemp("given") / "earlier"
    train(override(micro, ["train.seed=1", "train.max_steps=2"]), corpus_folder, folder)
    return folder


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of one's own: two records of nobody and one of Georgia, two of them with a code."""
    folder = tmp_path_factory.mktemp("archive")
    for number, place in enumerate(("mine/A0001", "mine/A0002", "georgia/E00007")):
        signal_CL = make_ecg(seed=100 + number)
        codes = ["Dx: 164889003"] if number else []
        make_record(folder / "ecg" / Path(place).parent, Path(place).name, signal_CL, comments=codes)
    prepare([folder / "ecg"], folder / "prepared", jobs=1)
    return folder / "prepared"


@pytest.fixture(scope="module")
def unbroken(archive: Path, micro: Config, given: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unbroken") / "run"
    train(micro, archive, folder, start=given)
    return folder


def same(found: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> bool:
    return found.keys() == wanted.keys() and all(torch.equal(found[name], wanted[name]) for name in wanted)


def test_the_first_step_sees_the_given_weights(
    archive: Path, micro: Config, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, torch.Tensor]] = []
    forward = Network.forward

    def noted(self: Network, *args: object) -> object:
        seen.append({name: value.clone() for name, value in self.model.state_dict().items()})
        return forward(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Network, "forward", noted)
    train(micro, archive, tmp_path / "run", start=given)
    assert same(seen[0], MarEcg.from_pretrained(given).state_dict())
    assert not same(seen[-1], seen[0])


@pytest.mark.parametrize("recipe", FOLLOWING)
def test_slow_encoders_and_the_average_begin_with_them_and_the_heads_with_the_seed(recipe: str) -> None:
    config = override(by_name(recipe), ["model.width=16", "model.depth=1", "model.heads=2"])
    torch.manual_seed(1)
    weights = MarEcg(config.model, ONTOLOGY).state_dict()

    def network(given: dict[str, torch.Tensor] | None) -> Network:
        torch.manual_seed(0)
        return Network(config, ONTOLOGY, weights=given)

    begun, random = network(weights), network(None)
    wanted = {name: value for name, value in weights.items() if name.startswith("encoder.")}
    average = Pretraining(override(config, ["train.average=0.9"]), begun, 10).average
    assert average is not None
    assert isinstance(average.module, Network)
    assert same(average.module.model.state_dict(), weights)
    assert same(begun.model.state_dict(), weights)
    followers: set[str] = set()
    for name, objective in begun.objectives.items():
        assert isinstance(objective, Objective)
        for encoder in objective.encoders():
            assert same({f"encoder.{key}": value for key, value in encoder.state_dict().items()}, wanted)
            followers.add(name)
    assert followers == {"jepa", "moco", "byol", "dino"} & begun.objectives.keys()
    for name, value in begun.objectives.state_dict().items():
        if ".slow." not in name and ".ema." not in name:
            assert torch.equal(value, random.objectives.state_dict()[name]), name


@pytest.mark.parametrize(("node_width", "alike"), [(64, 0.999), (16, 0.4)])
def test_the_concepts_begin_where_they_were_and_the_other_heads_where_the_seed_puts_them(
    micro: Config, node_width: int, alike: float
) -> None:
    """40 concepts: a narrower graph convolution can only come near."""
    config = override(micro, [f"gscl.node_width={node_width}", "model.concept_width=64"])
    weights = MarEcg(config.model, ONTOLOGY).state_dict()
    random_NK = torch.randn(40, 64, generator=torch.Generator().manual_seed(2))
    made_NK = normalize(layer_norm(random_NK, (64,)))
    torch.manual_seed(0)
    random = Network(config, ONTOLOGY)
    torch.manual_seed(0)
    begun = Network(config, ONTOLOGY, weights={**weights, "prototypes": made_NK})
    found_NK = begun.export().prototypes
    cosine_N = (found_NK * made_NK).sum(1)
    assert cosine_N.mean() > alike
    assert cosine_N.min() > 0
    changed = {
        name
        for name, value in random.objectives.state_dict().items()
        if not torch.equal(value, begun.objectives.state_dict()[name])
    }
    weight = "gscl.prototypes.conv2.lin.weight"
    assert changed == {weight}
    norms = [each.objectives.state_dict()[weight].norm().item() for each in (begun, random)]
    assert norms[0] == pytest.approx(norms[1], rel=1e-5)


def test_the_run_says_what_it_began_from_without_the_path_to_it(unbroken: Path, given: Path) -> None:
    noted = json.loads((unbroken / "config.json").read_text())["began_from"]
    assert (noted["name"], noted["sha256"]) == ("earlier", weights_sha256(MarEcg.from_pretrained(given)))
    for said in (unbroken / "config.json", unbroken / "model/config.json", unbroken / "model/README.md"):
        assert str(given.parent) not in said.read_text()
        assert noted["sha256"] in said.read_text()


def test_model_and_card_count_the_records_of_both(unbroken: Path, given: Path) -> None:
    its, before = (MarEcg.from_pretrained(folder).provenance for folder in (unbroken, given))
    assert its is not None
    assert before is not None
    assert its.began_from == BeganFrom(
        name="earlier", sha256=weights_sha256(MarEcg.from_pretrained(given)), provenance=before
    )
    assert (its.steps, its.records, its.others) == (6, before.records + 3, before.others + 2)
    assert its.sources == {**before.sources, "georgia": 1}
    assert its.support is not None
    assert before.support is not None
    assert its.support == {**before.support, "AF": before.support["AF"] + 2}
    card = (unbroken / "model" / "README.md").read_text(encoding="utf-8")
    assert (
        f"| began from | earlier: recipe micro, 2 optimiser steps, {before.records} records; SHA-256" in card
    )


def test_a_collection_is_without_codes_only_where_neither_read_them() -> None:
    def made(sources: dict[str, int], *without: str, **more: object) -> Provenance:
        records = sum(sources.values())
        return Provenance(
            recipe="r", steps=1, records=records, sources=sources, without_codes=without, **more
        )

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


def test_what_it_was_trained_on_is_what_both_were(unbroken: Path, given: Path, archive: Path) -> None:
    both, before = trained_on.read(unbroken), trained_on.read(given)
    assert both is not None
    assert before is not None
    assert before.hashes < both.hashes
    assert len(both.hashes - before.hashes) == 3
    assert both.identities == before.identities | {"georgia/E00007"}
    assert both.complete
    assert (unbroken / trained_on.FILE).stat().st_mode & 0o007 == 0


def test_a_record_that_both_trainings_read_is_listed_once(
    given: Path, corpus_folder: Path, tmp_path: Path
) -> None:
    trained_on.write(Corpus.open(corpus_folder), tmp_path, given)
    both, before = (pq.read_table(run / trained_on.FILE) for run in (tmp_path, given))
    assert both.equals(before)
    renamed = before.set_column(0, "identity", pa.array([f"georgia/{row}" for row in range(len(before))]))
    (tmp_path / "renamed").mkdir()
    pq.write_table(
        renamed.replace_schema_metadata(before.schema.metadata), tmp_path / "renamed" / trained_on.FILE
    )
    trained_on.write(Corpus.open(corpus_folder), tmp_path, tmp_path / "renamed")
    assert len(pq.read_table(tmp_path / trained_on.FILE)) == 2 * len(before)


def test_weights_without_a_list_of_their_records_leave_the_run_without_a_whole_one(
    archive: Path, micro: Config, given: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(given / "model", tmp_path / "sent")
    train(override(micro, ["train.max_steps=1"]), archive, tmp_path / "run", start=tmp_path / "sent")
    assert "sent does not list all records" in caplog.text
    train(override(micro, ["train.max_steps=1"]), archive, tmp_path / "again", start=tmp_path / "run")
    for run in ("run", "again"):
        kept = trained_on.read(tmp_path / run)
        assert kept is not None
        assert not kept.complete
        assert len(kept.hashes) == 3


def test_without_gscl_the_new_model_knows_no_concepts_and_the_run_says_so(
    archive: Path, micro: Config, given: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = override(micro, ["gscl=null", "train.max_steps=1"])
    train(config, archive, tmp_path / "run", start=given)
    assert "earlier knows concepts and the recipe has no gscl" in caplog.text
    assert MarEcg.from_pretrained(given).prototypes.any()
    assert not MarEcg.from_pretrained(tmp_path / "run").prototypes.any()


def test_killed_and_resumed_without_the_weights_it_is_the_unbroken_run(
    archive: Path, micro: Config, given: Path, unbroken: Path, tmp_path: Path
) -> None:
    written = "        while not glob.glob(sys.argv[3] + '/checkpoints/step-*.ckpt'): pass\n        os.kill("
    script = KILLED.replace("sys.argv[3])", "sys.argv[3], start=sys.argv[5])")
    script = script.replace("import os,", "import glob, os,").replace("        os.kill(", written)
    run = tmp_path / "run"
    arguments = [micro.model_dump_json(), str(archive), str(run), "3", str(given)]
    killed = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with pytest.raises(UsageError, match=r"was begun from earlier \(SHA-256 \w{8}\), not from run"):
        train(micro, archive, run, start=unbroken)
    train(micro, archive, run, resume=True)
    assert rows(run) == rows(unbroken)
    for name in ("model/model.safetensors", trained_on.FILE, "config.json"):
        assert (run / name).read_bytes() == (unbroken / name).read_bytes(), name
    its, whole = (MarEcg.from_pretrained(folder).provenance for folder in (run, unbroken))
    assert its is not None
    assert whole is not None
    assert its.model_copy(update={"seconds": whole.seconds, "resumed": False}) == whole


def test_a_run_without_a_checkpoint_asks_for_the_weights_again(
    archive: Path, micro: Config, unbroken: Path, tmp_path: Path
) -> None:
    shutil.copytree(unbroken, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    with pytest.raises(UsageError, match="was begun from earlier, and has no checkpoint yet"):
        train(micro, archive, tmp_path / "run")


def test_a_run_of_random_weights_is_not_gone_on_with_from_others(
    corpus_folder: Path, micro: Config, given: Path, unbroken: Path
) -> None:
    config = override(micro, ["train.seed=1", "train.max_steps=2"])
    with pytest.raises(UsageError, match="was begun from random weights, not from run"):
        train(config, corpus_folder, given, start=unbroken)


def test_another_shape_is_refused_by_its_first_value(
    archive: Path, micro: Config, given: Path, tmp_path: Path
) -> None:
    config = override(micro, ["model.width=32", "model.eta=0.5"])
    with pytest.raises(ConfigError, match=r"model\.width is 32, that of the weights 16"):
        train(config, archive, tmp_path / "run", start=given)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("model/model.safetensors", r"model\b"),
        ("model/config.json", r"model\b"),
        ("trained_on.parquet", r"trained_on\.parquet"),
    ],
)
def test_damaged_weights_are_named(
    archive: Path, micro: Config, given: Path, tmp_path: Path, damage: str, named: str
) -> None:
    shutil.copytree(given, tmp_path / "damaged")
    (tmp_path / "damaged" / damage).write_bytes(b"PAR1")
    with pytest.raises((CheckpointError, InputError), match=f"damaged/{named}"):
        train(micro, archive, tmp_path / "run", start=tmp_path / "damaged")
    assert not (tmp_path / "run" / "config.json").exists()


def test_a_folder_that_is_no_model_is_named(archive: Path, micro: Config, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"has no config\.json\. Name a run"):
        train(micro, archive, tmp_path / "run", start=archive)


def test_the_recipe_of_the_weights_is_taken_and_their_model_where_the_user_says_nothing(
    given: Path, micro: Config, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="was made by recipe 'micro', which has no such name here"):
        recipe_for(given)
    assert recipe_for(given, "tiny-c3").model == micro.model
    assert recipe_for(given, "tiny", ["model.width=32"]).model.width == 32
    assert recipe_for(given, "tiny", ["data.window=4000"]).model.positions == micro.model.positions
    mine = tmp_path / "mine.toml"
    mine.write_text('base = "tiny"\n[model]\nwidth = 8\nheads = 2\n[gscl]\nsigma = 0.5\n')
    said = recipe_for(given, str(mine))
    assert (said.model.width, said.model.depth) == (8, micro.model.depth)
    model = MarEcg.from_pretrained(given)
    model.provenance = Provenance(recipe="tiny-c2", steps=1, records=1, sources={})
    model.save_pretrained(tmp_path / "named")
    assert recipe_for(tmp_path / "named").name == "tiny-c2"
    model.provenance = Provenance(recipe=f"{tmp_path}/evil.py:recipe", steps=1, records=1, sources={})
    model.save_pretrained(tmp_path / "evil")
    with pytest.raises(UsageError, match="no such name here"):
        recipe_for(tmp_path / "evil")
