"""Settings for preparing a corpus, and for drawing records from it during training."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ecg_records.signal.quality import QualityLimits
from marecg.base.durations import DURATION, seconds_of
from marecg.model.config import WINDOW
from marecg.settings import Settings, chosen, paper


class _Cut(Settings):
    """Sampling rate and length of the window that is cut from a record.

    These settings have their own base class, so that they come before the quality limits in saved files.
    """

    fs: int = paper(500, "§sec:values", gt=0)
    window: int = paper(WINDOW, "§sec:values: L, the context and the trailing T_pred patches", gt=0)
    margin: float = chosen(0.5, "seconds read beyond the window; longer than the resampling filter", ge=0)
    shortest: float = chosen(5.0, "seconds; the shortest records of the Georgia collection", gt=0)


class CorpusConfig(QualityLimits, _Cut):
    """Settings for preparing a corpus from records."""

    rpeaks: Literal["pantompkins1985", "neurokit"] = paper(
        "pantompkins1985", "§Signal preprocessing; rpeaks.py refines it"
    )
    rpeaks_lead: Literal["I", "best"] = chosen("best", "uses all leads; the paper uses lead I")
    windows: str = chosen(
        "1",
        "windows of a long recording: a number, `all`, or an interval such as `every 1h`",
        pattern=rf"^(all|[1-9]\d*|every {DURATION})$",
        coerce_numbers_to_str=True,
    )
    ptbxl_folds: tuple[Annotated[int, Field(ge=1, le=10)], ...] = chosen(
        (), "uses all folds; choose 1 to 8 to keep test folds unseen"
    )
    ptbxl_rate: Literal[500, 100] = chosen(500, "Hz; 100 is used if a record has no 500 Hz file")
    shard: int = chosen(2048, "records per file, which makes files of 231 MB", gt=0)
    corpus: Literal["mended", "paper"] = chosen(
        "mended",
        "repairs damaged leads; `paper` excludes such records, and finds R-peaks as the paper does",
    )

    @model_validator(mode="after")
    def _paper_mends_nothing(self) -> Self:
        for name in ("bridge_limit", "hidden_limit", "rpeaks", "rpeaks_lead"):
            if self.corpus == "paper" and getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{name} must be omitted with corpus=paper, which doesn't use it")
        return self

    def starts(self, seconds: float) -> list[float]:
        """Return the start times of a recording's windows (the parts to store), in seconds.

        Example:
            >>> CorpusConfig(windows="3").starts(100), CorpusConfig(windows="all").starts(30)
            ([0.0, 45.3, 90.6], [0.0, 9.4, 18.8])
            >>> CorpusConfig(windows="every 1h").starts(9000), CorpusConfig(windows="3").starts(8)
            ([0.0, 3600.0, 7200.0], [0.0])
        """
        width = self.window / self.fs
        if self.windows.isdecimal():
            count = max(1, min(int(self.windows), int(seconds // width)))
            step = max(0.0, seconds - width) / max(1, count - 1)
        else:
            step = width if self.windows == "all" else seconds_of(self.windows.removeprefix("every "))
            count = max(1, int((seconds - self.shortest) // step) + 1)
        return [round(number * step, 3) for number in range(count)]

    @property
    def seconds_read(self) -> float:
        """Number of seconds that are read from a recording: the window and a margin after it."""
        return self.window / self.fs + self.margin


class SamplingConfig(Settings):
    """Settings for drawing records: shares of sources, balance of leaf concepts, sources without codes."""

    balance: float = chosen(0.0, "0 draws all records equally often, 1 all leaves equally often", ge=0)
    shares: dict[str, Annotated[float, Field(ge=0)]] = chosen({}, "share of each source in the drawn records")
    without_codes: tuple[str, ...] = chosen((), "sources whose codes are ignored")
    codes_permuted: int | None = chosen(
        None,
        "seed of a control experiment in which records exchange their codes",
        ge=0,
    )

    def seeded(self, seed: int) -> Self:
        """Return the settings for a run. Its seed is added to `codes_permuted`, unless that is None."""
        if self.codes_permuted is None:
            return self
        return self.model_copy(update={"codes_permuted": self.codes_permuted + seed})
