"""`marecg`: from a folder of hospital records to a probed encoder."""

import typer

from marecg_cli import _bench, _corpus, _data, _evaluation, _inference, _training
from marecg_cli._output import run

app = typer.Typer(
    help="Ontology-guided representation learning for 12-lead ECG: synth, prepare, train, probe, embed.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for module in (_corpus, _training, _evaluation, _inference):
    for command in module.COMMANDS:
        app.command()(command)
app.add_typer(_data.app, name="data")
app.add_typer(_bench.app, name="bench")


def main(argv: list[str] | None = None) -> None:
    """Run the `marecg` command line."""
    run(app, argv)
