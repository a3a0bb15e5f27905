"""How tests call `ecgonto` in this process, and what models are asked about."""

from pathlib import Path

import pytest

from marecg_cli import ecgonto


@pytest.fixture
def call_ecgonto(capsys):
    """Run `ecgonto` with these arguments; return its exit code, stdout and stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as done:
            ecgonto.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return int(done.value.code or 0), out, err

    return run


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that knows concepts, one that knows none, and five records, one of them without its signal."""
    import torch

    from marecg.base.config import ModelConfig
    from marecg.model.mar_ecg import MarEcg
    from marecg.synth import write_corpus

    folder = tmp_path_factory.mktemp("place")
    torch.manual_seed(0)
    model = MarEcg(
        ModelConfig(stride=50, positions=94, width=16, depth=1, heads=2, mlp_ratio=2, concept_width=8)
    )
    model.save_pretrained(folder / "mute" / "model")
    model.prototypes.copy_(torch.nn.functional.normalize(torch.randn(40, 8), dim=-1))
    model.save_pretrained(folder / "run" / "model")
    write_corpus(folder / "wfdb", 5, 0)
    sorted((folder / "wfdb").rglob("*.mat"))[-1].unlink()
    return folder
