"""What may be given as an argument: words among the runs of `marecg probe`, named files, and addresses."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

_NUMBER = re.compile(r"\d*\.?\d+(e-?\d+)?")


@dataclass
class Given:
    """What --task, --fraction and --root were given; of each several may follow, and stand among the runs."""

    tasks: list[str]
    shares: list[float]
    roots: list[str]

    def takes(self, word: str) -> bool:
        """Take a word that isn't a run: a folder with a model is one, whatever its name."""
        from marecg.evaluate.tasks.registry import ALL, TASKS

        if any((Path(word) / part).is_dir() for part in ("model", "checkpoints", "probe")):
            return False
        data, separator, _ = word.partition("=")
        if self.tasks and (word in (*TASKS, ALL) or ".py:" in word):
            self.tasks.append(word)
        elif self.shares and _NUMBER.fullmatch(word):
            self.shares.append(float(word))
        elif self.roots and separator and data in {task.data for task in TASKS.values()} | TASKS.keys():
            self.roots.append(word)
        else:
            return False
        return True


class Address(str):
    """Where something lies in a store; a command is given the copy of it (`_commands`)."""


def place(text: str) -> Path | Address:
    """A path, or an address such as s3://bucket/corpus."""
    from marecg.storage.places import is_remote

    return Address(text) if is_remote(text) else Path(text)


PLACE: dict[str, Any] = {"parser": place, "metavar": "PATH"}
"""The settings of an option that takes either."""


Folds = Annotated[  # of probe and ablate
    list[str] | None,
    typer.Option(
        metavar="TRAIN,VAL,TEST",
        help="The data's folds that train, select and test, such as 1-5,6,7-8 or 5-8+1,2,3-4; repeated, each "
        "is a rotation, and the test records of all are pooled. [default: as published]",
        show_default=False,
    ),
]


def named_files(options: list[str]) -> dict[str, Path]:
    """`NAME=FILE`, or `FILE`, which is named after itself; of an address, what lies there."""
    pairs = [option.rpartition("=") for option in options]
    from marecg.storage.copies import ensure_local

    return {name or Path(file).stem: ensure_local(file) for name, _, file in pairs}
