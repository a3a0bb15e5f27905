"""Commands that use and judge a trained encoder.

Each imports what it runs inside itself, so that `marecg --help` stays quick and loads no torch.
"""

from collections.abc import Callable

COMMANDS: tuple[Callable[..., None], ...] = ()
