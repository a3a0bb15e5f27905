"""Settings of `--set KEY=VALUE`: a model per group that parses and describes them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ecg_base import UnknownSettingError, UsageError, suggest
from marecg_cli._options import local_path

if TYPE_CHECKING:
    from ecg_ontology import CodeMapping, CodeTable
    from ecg_records.readers.arrays.array_layout import Layout


def _folds(value: str) -> Any:
    from marecg.evaluate.tasks.task import Folds

    return tuple(map(Folds.of, value.split(";")))


def _split_names(value: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(",") if name.strip())


Rows = Annotated[tuple[str, ...], BeforeValidator(lambda value: tuple(value.split(";")))]
Names = Annotated[tuple[str, ...], BeforeValidator(_split_names)]
Folds = Annotated[Any, BeforeValidator(_folds)]
File = Annotated[Path, BeforeValidator(local_path)]
Count = Annotated[int, Field(ge=1)]


class Settings(BaseModel):
    """Group of settings; `given()` returns the user's, the others are the command's defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def given(self) -> dict[str, Any]:
        """Return the user's settings by name."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class Probe(Settings):
    """Settings of `probe`, and its cache of features."""

    folds: Folds = Field((), description="what trains, selects and tests: 1-5,6,7-8; rotations parted by ;")
    readout: str = Field("rhythm", description="what is compared: rhythm, wide, beats, full or concepts")
    splits: File | None = Field(None, description="folder of MERL's split tables")
    resamples: Count = Field(1000, description="draws of the test records, for the intervals")
    without: Rows = Field((), description="rows that are left out: hand-crafted;encoder, wide")
    feature_cache: File | None = Field(None, description="folder that keeps computed features for later runs")


class Training(Settings):
    """Settings of `classify fit`."""

    steps: int = Field(1500, description="steps at most")
    patience: int = Field(300, description="steps without a gain on validation")
    batch_size: int = Field(32, description="records per step")
    lr: float = Field(1e-3, description="learning rate of the pool")
    readout: str = Field(
        "wide",
        description="what the head reads: wide; by the head alone beats, full or best, as fit by default",
    )
    balanced: bool = Field(False, description="weigh positives and negatives alike")
    seed: int = Field(0, description="of the records held out, their order and the windows")


class FineTuning(Training):
    """Settings of `probe --protocol finetune`."""

    layers: Rows = Field(
        ("all",), description="what is trained: head, last:N blocks or all; rows parted by ;"
    )
    readout: str = Field(
        "wide", description="what the head reads: wide or rhythm, or beats or full by it alone"
    )


class Sizes(Settings):
    """Settings of `embed` for the division of work."""

    batch_size: Count = Field(32, description="windows per forward pass")
    part_records: Count = Field(1024, description="records per part of a folder")


class Telling(Settings):
    """Settings of `predict`'s answers."""

    risk: float | None = Field(
        None, gt=0, lt=1, description="how often what is told may be wrong; 0.1 where answers are calibrated"
    )
    calibrate: File | None = Field(
        None, description="table of labels of some of the records; adapts the answers to your hospital"
    )


class Arrays(Settings):
    """Settings of arrays."""

    leads: Names = Field((), description="of the rows, in order: I,II,V2; the usual twelve without")
    units: Literal["mV", "uV", "V", "adc"] = Field("mV", description="mV, uV, V or adc")
    gain: float = Field(200, description="units per mV, for adc")
    key: str = Field("", description="name of one array of several in a file")


class Codes(Settings):
    """Settings of a table of codes."""

    id_column: str = Field("", description="column of the records' names")
    code_column: str = Field("", description="column of the codes")
    patient_column: str = Field("", description="column of the patients")
    vocabulary: str = Field("snomed", description="snomed, icd10, omop or scp")
    mapping: File | None = Field(
        None, description="table to SNOMED CT: .csv of code and snomed, or .sssom.tsv"
    )
    concepts: File | None = Field(None, description="concept table of OMOP")


Kind = TypeVar("Kind", bound=Settings)
Groups = Mapping[str, type[BaseModel]]
"""Models of a command's settings, each by the prefix of its keys."""


def _of_prepare() -> Groups:
    from marecg.corpus.config import CorpusConfig

    return {"": CorpusConfig, "codes.": Codes, "array.": Arrays}


def _of_train() -> Groups:
    from marecg.recipes.schema import Config

    return {"": Config}


OF_COMMAND: Mapping[str, Callable[[], Groups]] = {
    "probe": lambda: {"": Probe, "finetune.": FineTuning},
    "fit": lambda: {"": Training},
    "embed": lambda: {"": Sizes, "array.": Arrays},
    "predict": lambda: {"": Telling, "array.": Arrays},
    "report": lambda: {"array.": Arrays},
    "prepare": _of_prepare,
    "coverage": lambda: {"codes.": Codes},
    "train": _of_train,
}
"""By command, what returns its settings; `marecg` is imported only for the commands that need it."""


def read(kind: type[Kind], assignments: Iterable[str] | None, group: str = "") -> Kind:
    """Parse `KEY=VALUE` texts as settings; `group` is the prefix of all keys, such as `array.`.

    Raises `UsageError` where there is no such key, which names the command that has it, or the value isn't
    one of its kind.
    """
    values: dict[str, str] = {}
    for item in assignments or ():
        name, equals, text = item.partition("=")
        key = name.removeprefix(group)
        if key not in kind.model_fields or not name.startswith(group):
            remedy = suggest(name, [group + key for key in kind.model_fields])
            raise UnknownSettingError(name, where=f"--set {item}", remedy=remedy)
        if not equals:
            raise UsageError("has no '='", where=f"--set {item}", remedy=f"Write --set {name}=VALUE")
        values[key] = text
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        from marecg.base.requirements import requirement

        details = error.errors()[0]
        key = str(details["loc"][0])
        raise UsageError(f"{group}{key} {requirement(details | {'input': values[key]})}") from error


def array_layout(fs: float | None, assignments: Iterable[str] | None) -> "Layout | None":
    """Return the stated layout of arrays; None without a rate. Raises `UsageError`."""
    from ecg_records.readers.arrays.array_layout import Layout

    values = read(Arrays, assignments, "array.").given()
    if fs is None and values:
        raise UsageError("array settings need --fs, the sampling rate in Hz")
    return None if fs is None else Layout(fs, **values)


def code_settings(assignments: Iterable[str] | None) -> dict[str, Any]:
    """Return `--set codes.KEY=VALUE` as arguments of `read_code_table`."""
    return read(Codes, assignments, "codes.").given()


def codes_of(table: Path | None, assignments: Iterable[str]) -> "CodeTable | CodeMapping | None":
    """Return the named code table; without one the mapping alone, if there is any.

    Raises `UsageError` or `InputError` as `read_code_table`, or columns are named of no table.
    """
    from ecg_ontology import CodeMapping, read_code_table

    values = code_settings(assignments)
    if table is not None:
        return read_code_table(table, **values)
    if values.keys() - {"mapping"}:
        raise UsageError("codes settings need --codes, a table of codes")
    return CodeMapping.read(values["mapping"]) if values else None


def described(command: str) -> Iterator[tuple[str, str, str]]:
    """Return all settings of a command: key, default, and description."""
    for group, model in OF_COMMAND[command]().items():
        yield from _fields(model, group)


def _fields(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str, str]]:
    for name, field in model.model_fields.items():
        kinds = [kind for kind in (field.annotation, *get_args(field.annotation)) if isinstance(kind, type)]
        inner = [kind for kind in kinds if issubclass(kind, BaseModel)]
        if inner:
            yield from _fields(inner[0], f"{prefix}{name}.")
        else:
            extra = field.json_schema_extra
            text = field.description or (extra.get("source", "") if isinstance(extra, dict) else "")
            open_ = (
                field.is_required() or field.default_factory is not None or field.default in (None, (), "")
            )
            yield f"{prefix}{name}", "" if open_ else str(field.default), str(text)


def owners(name: str) -> str:
    """Return " It is a setting of …." with the commands that have the setting, or "" if no command has it."""
    light = [command for command in OF_COMMAND if command != "train" or "." in name]  # its keys have a dot
    commands = [command for command in light if name in _keys(command)]
    return f" It is a setting of {', '.join(commands)}." if commands else ""


def _keys(command: str) -> set[str]:
    try:
        return {key for key, _, _ in described(command)}
    except ImportError:  # its package isn't installed
        return set()
