"""Commands that train and show what will be trained.

Each imports what it runs inside itself, so that `marecg --help` stays quick and loads no torch.
"""

from collections.abc import Callable

COMMANDS: tuple[Callable[..., None], ...] = ()
