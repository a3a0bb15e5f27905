"""Removed commands and options, each with what to type instead."""

from collections.abc import Mapping, Sequence

from ecg_ontology import UsageError

COMMANDS: Mapping[str, str] = {
    "browse": "Type ecgonto export --out onto.html",
    "tree": "Type ecgonto show [NODE] --tree",
}
_DEMO = "Type marecg demo; marecg synth, prepare, train and probe take sizes and seeds"
_ENGINE = "Type ecgonto validate --engine"
OPTIONS: Mapping[tuple[str, str], str] = {
    ("demo", "--records"): _DEMO,
    ("demo", "--steps"): _DEMO,
    ("demo", "--seed"): _DEMO,
    ("texts", "--ontology"): "Type marecg texts CORPUS",
    ("texts", "--out"): "Type marecg texts CORPUS, which writes where training looks",
    ("search", "--profile"): "Type ecgonto route CODE --profile curated for a code's route",
    ("match", "--profile"): "Leave it out: new codes are compared with the curated routes",
    ("snomed", "--profile"): "Leave it out: a release is compared with the curated routes",
    ("validate", "--reasoner"): f"{_ENGINE} reasoner",
    ("validate", "--shacl"): f"{_ENGINE} shacl",
    ("diff", "--threshold"): "Type ecgonto diff OLD NEW --format json, which lists all",
    ("add-code", "--date"): "Leave it out: it is today's; ecgonto review --apply takes a sheet with another",
    ("add-code", "--tables"): "Type ecgonto add-code --ontology FOLDER",
    ("perturb", "--shuffle"): "Type ecgonto perturb shuffle=SEED --out FILE",
    ("perturb", "--flat"): "Type ecgonto perturb flat --out FILE",
    ("perturb", "--drop"): "Type ecgonto perturb drop=KIND,KIND --out FILE",
}
"""By command and option."""


def refuse_command(argv: Sequence[str]) -> None:
    """Refuse a removed command. Raises `UsageError`."""
    if argv and argv[0] in COMMANDS:
        raise UsageError(f"there is no command {argv[0]} any more", remedy=COMMANDS[argv[0]])


def replacement(command: str, option: str) -> str:
    """Return what to type instead of a removed option; "" where it never was one."""
    return OPTIONS.get((command, option), "")
