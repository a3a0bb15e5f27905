"""Words of `marecg probe` that may stand among the runs, and files with names."""

import re
from dataclasses import dataclass
from pathlib import Path

_NUMBER = re.compile(r"\d*\.?\d+(e-?\d+)?")


@dataclass
class Given:
    """What --task, --fraction and --root were given; of each several may follow, and stand among the runs."""

    tasks: list[str]
    shares: list[float]
    roots: list[str]

    def takes(self, word: str) -> bool:
        """Take a word that is no run: a folder with a model is one, whatever its name."""
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


def named_files(options: list[str]) -> dict[str, Path]:
    """`NAME=FILE`, or `FILE`, which is named after itself."""
    pairs = [option.rpartition("=") for option in options]
    return {name or Path(file).stem: Path(file) for name, _, file in pairs}
