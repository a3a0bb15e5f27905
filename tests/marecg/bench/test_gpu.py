"""The GPU bench runs from end to end where there is no GPU; its figures are not looked at."""

import json
from pathlib import Path

import pytest

from marecg.bench.gpu import Result
from marecg.recipes import Config
from marecg_cli.marecg import main


def gpu_bench(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(["bench", "gpu", *arguments])
    return int(end.value.code or 0)


def test_it_trains_and_tells_speed_and_problems_as_json(tmp_path: Path) -> None:
    out = tmp_path / "gpu.json"
    size = ("--device", "cpu", "--tiny", "--batch", "2", "--steps", "1", "--recipe", "c3")
    assert gpu_bench(*size, "--variant", "checkpoint", "--out", str(out)) == 0
    told = json.loads(out.read_text(encoding="utf-8"))
    (step,) = told["steps"]
    assert (step["recipe"], step["variant"], step["problem"]) == ("tiny-c3", "checkpoint", "")
    assert min(step["records_per_s"], step["of_product"], step["data_share"], step["epoch_minutes"]) > 0
    problems = {each["backend"]: each["problem"] for each in told["spatial"]}
    assert problems["MATH"] == ""
    assert "backend" in problems["CUDNN_ATTENTION"]


def test_a_variant_that_fails_is_a_row_and_what_was_measured_survives_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried: list[str] = []

    def fails(config: Config, name: str, *_: object) -> Result:
        tried.append(name)
        if len(tried) == 1:
            raise TypeError("the compiler knows no such thing\nat line 1")
        if len(tried) == 3:
            raise KeyboardInterrupt
        return Result(config.name, name, of_product=0.6)

    monkeypatch.setattr("marecg.bench.gpu._train", fails)
    out = tmp_path / "gpu.json"
    assert gpu_bench("--device", "cpu", "--tiny", "--out", str(out)) == 130
    first, second = json.loads(out.read_text(encoding="utf-8"))["steps"]
    assert (first["variant"], first["problem"]) == ("eager", "TypeError: the compiler knows no such thing")
    assert (second["variant"], second["problem"], second["of_product"]) == ("compile", "", 0.6)
    assert "the compiler knows no such thing" in capsys.readouterr().out


def test_without_a_gpu_it_says_so_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert gpu_bench() == 2
    assert "no CUDA device" in capsys.readouterr().err


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "meta", "cpu:0", ""])
def test_a_device_that_is_not_there_is_refused_with_those_that_are(
    device: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gpu_bench("--device", device, "--tiny") == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: --device: there is no device {device!r} here. Choose from ")
    assert said.endswith("cpu.\n")


def test_an_unknown_variant_is_refused_beforehand(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert gpu_bench("--device", "cpu", "--tiny", "--variant", "slow") == 2
    assert "'slow'" in capsys.readouterr().err
