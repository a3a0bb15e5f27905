"""Run `ecgonto` as `python -m ecg_ontology`. The distribution marecg-cli provides the command."""

import sys
from importlib.metadata import entry_points

_COMMAND = "ecgonto"

if __name__ == "__main__":
    scripts = entry_points(group="console_scripts", name=_COMMAND)
    if not scripts:
        sys.exit(f"error: the command {_COMMAND} is not installed. Install marecg-cli.")
    next(iter(scripts)).load()()
