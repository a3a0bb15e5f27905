"""The commands of the fault matrix, at their smallest size."""

import re
from dataclasses import dataclass
from pathlib import Path

SETTINGS = (
    *("model.width=16", "model.depth=1", "model.heads=2", "ar.width=8", "ar.depth=1", "ar.heads=1"),
    *("train.batch_size=2", "train.accumulate=1", "train.max_steps=24", "train.checkpoint_every=3"),
)


@dataclass(frozen=True)
class Command:
    """A command by its words: {out} is where it writes, {place} where what it reads is, {mirror} a server.

    Attributes:
        words: it; those of `marecg` where it doesn't begin with ecgonto.
        out: the ending of what it writes; None: it prints.
        compared: patterns of the files that count.
        much: whether it is among those that write most.
    """

    words: str
    out: str | None = None
    compared: tuple[str, ...] = ("*",)
    much: bool = False

    def argv(self, place: Path, out: Path, mirror: str = "") -> list[str]:
        """Its arguments."""
        return [each.format(place=place, out=out, mirror=mirror) for each in self.words.split()]

    @property
    def sources(self) -> list[str]:
        """Names in the place of what it reads."""
        return re.findall(r"\{place\}/([\w.]+)", self.words)


_TRAIN = " ".join(f"--set {each}" for each in SETTINGS)
COMMANDS = (
    Command("synth --out {out} --records 6 --seed 1", ""),
    Command("prepare {place}/records --out {out} --jobs 1 --set shard=3", "", much=True),
    Command(
        f"train --recipe tiny --data {{place}}/corpus --out {{out}} {_TRAIN}",
        "",
        ("metrics.csv", "model/model.safetensors"),
        much=True,
    ),
    Command("embed {place}/run {place}/records --out {out} --jobs 1", ".parquet"),
    Command("embed {place}/run {place}/records --out {out}/ --set part_records=2 --jobs 1", "", much=True),
    Command("cohort {place}/corpus --where age>0 --out {out}", ".parquet"),
    Command("cohort {place}/corpus --where age>0 --out {out}", ""),
    Command("cohort {place}/corpus --where age>0 --out {out}", ".csv"),
    Command("report {place}/run {place}/one/one --out {out}", ".html"),
    Command("predict {place}/run {place}/one/one"),
    Command("predict {place}/run {place}/one/one --every 2s --out {out}", ".csv"),
    Command("audit {place}/corpus --verify"),
    Command("audit {place}/corpus --against {place}/other"),
    Command("recipes"),
    Command("export {place}/run --to torch --out {out}", ".pt2", ()),
    Command(
        "probe {place}/run --task corpus --root {place}/many --fraction 1 --out {out}", "", ("probe/*.npz",)
    ),
    Command(
        "classify fit {place}/run --data {place}/many --labels {place}/labels.csv --set steps=5 --out {out}",
        "",
        ("*.safetensors",),
    ),
    Command("data get georgia --out {out} --mirror {mirror}", ""),
    Command("ecgonto export {out}", ".ttl"),
    Command("ecgonto export {out}", ".npz"),
    Command("ecgonto build {place}/ontology --out {out}", ".json"),
)
