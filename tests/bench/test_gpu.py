"""The GPU bench runs from end to end where there is no GPU; its figures are not looked at."""

import json
from importlib import import_module
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def gpu_bench(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY))
    monkeypatch.setattr("sys.argv", ["bench.gpu", *arguments])
    import_module("bench.gpu").main()


def test_it_trains_and_tells_speed_and_problems_as_json(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = tmp_path / "gpu.json"
    size = ("--device", "cpu", "--tiny", "--batch", "2", "--steps", "1", "--recipes", "c3")
    gpu_bench(monkeypatch, *size, "--variants", "checkpoint", "--out", str(out))
    told = json.loads(out.read_text(encoding="utf-8"))
    (step,) = told["steps"]
    assert (step["recipe"], step["variant"], step["problem"]) == ("tiny-c3", "checkpoint", "")
    assert min(step["records_per_s"], step["of_product"], step["data_share"], step["epoch_minutes"]) > 0
    problems = {each["backend"]: each["problem"] for each in told["spatial"]}
    assert problems["MATH"] == ""
    assert "backend" in problems["CUDNN_ATTENTION"]


def test_without_a_gpu_it_says_so_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SystemExit, match="no CUDA device"):
        gpu_bench(monkeypatch)
