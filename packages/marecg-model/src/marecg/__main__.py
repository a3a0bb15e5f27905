"""Run the command `marecg` of the package marecg-cli, for `python -m marecg`."""

import sys
from importlib.metadata import entry_points

_COMMAND = "marecg"

if __name__ == "__main__":
    commands = entry_points(group="console_scripts", name=_COMMAND)
    if not commands:
        sys.exit(f"error: the command {_COMMAND} is not installed. Install marecg-cli.")
    next(iter(commands)).load()()
