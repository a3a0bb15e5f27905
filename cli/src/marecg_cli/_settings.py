"""Define the settings of `--set KEY=VALUE`, as a pydantic model per group."""

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
    """Base class of groups of settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def given(self) -> dict[str, Any]:
        """Return the settings that the user has set, by name. Defaults are left out."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class Probe(Settings):
    """Settings of the command `marecg probe`."""

    folds: Folds = Field(
        (), description="folds for training, selection and test: 1-5,6,7-8; separate rotations by ;"
    )
    readout: str = Field("rhythm", description="features to compare: rhythm, wide, beats, full or concepts")
    splits: File | None = Field(None, description="folder of MERL's split tables")
    resamples: Count = Field(1000, description="number of bootstrap samples for the intervals")
    without: Rows = Field((), description="rows to omit: hand-crafted;encoder, wide")
    feature_cache: File | None = Field(None, description="folder to keep computed features for later runs")


class Training(Settings):
    """Settings of the command `marecg classify fit`."""

    steps: int = Field(1500, description="maximum number of steps")
    patience: int = Field(300, description="number of steps without improvement on validation to stop after")
    batch_size: int = Field(32, description="records per step")
    lr: float = Field(1e-3, description="learning rate of the pool")
    readout: str = Field(
        "wide",
        description="input of the head: wide, or (only with layers=head) beats, full or best; fit uses best",
    )
    balanced: bool = Field(False, description="give positives and negatives the same weight")
    seed: int = Field(0, description="seed for held-out records, their order and the windows")


class FineTuning(Training):
    """Settings of the command `marecg probe --protocol finetune`."""

    layers: Rows = Field(
        ("all",), description="layers to train: head, last:N (blocks) or all; separate rows by ;"
    )
    readout: str = Field(
        "wide", description="input of the head: wide or rhythm, or (only with layers=head) beats or full"
    )


class Sizes(Settings):
    """Settings of `marecg embed` for the sizes of batches and output parts."""

    batch_size: Count = Field(32, description="windows per forward pass")
    part_records: Count = Field(1024, description="records per part of a folder")


class Answers(Settings):
    """Settings of the calibrated answers that `marecg predict` prints."""

    risk: float | None = Field(
        None, gt=0, lt=1, description="maximum share of wrong answers; 0.1 if the model is calibrated"
    )
    calibrate: File | None = Field(
        None, description="table of labels of some of the records; adapts the answers to your hospital"
    )


class Arrays(Settings):
    """Settings of array files."""

    leads: Names = Field((), description="leads of the rows in order: I,II,V2; by default the usual twelve")
    units: Literal["mV", "uV", "V", "adc"] = Field("mV", description="mV, uV, V or adc")
    gain: float = Field(200, description="units per mV, for adc")
    key: str = Field("", description="name of the array, if a file has several arrays")


class Codes(Settings):
    """Settings of a table that assigns codes to records."""

    id_column: str = Field("", description="column of the names of records")
    code_column: str = Field("", description="column of the codes")
    patient_column: str = Field("", description="column of the patients")
    vocabulary: str = Field("snomed", description="snomed, icd10, omop or scp")
    mapping: File | None = Field(
        None, description="mapping to SNOMED CT: .csv with columns code and snomed, or .sssom.tsv"
    )
    concepts: File | None = Field(None, description="concept table of OMOP")


Group = TypeVar("Group", bound=Settings)
Groups = Mapping[str, type[BaseModel]]
"""Models of groups of settings, by the prefix of their keys."""


def _prepare_groups() -> Groups:
    from marecg.corpus.config import CorpusConfig

    return {"": CorpusConfig, "codes.": Codes, "array.": Arrays}


def _train_groups() -> Groups:
    from marecg.recipes.schema import Config

    return {"": Config}


OF_COMMAND: Mapping[str, Callable[[], Groups]] = {
    "probe": lambda: {"": Probe, "finetune.": FineTuning},
    "fit": lambda: {"": Training},
    "embed": lambda: {"": Sizes, "array.": Arrays},
    "predict": lambda: {"": Answers, "array.": Arrays},
    "report": lambda: {"array.": Arrays},
    "prepare": _prepare_groups,
    "coverage": lambda: {"codes.": Codes},
    "train": _train_groups,
}
"""Functions that return a command's groups of settings, by command. `marecg` is imported in these functions,
because the import is slow."""


def read(model: type[Group], assignments: Iterable[str] | None, prefix: str = "") -> Group:
    """Parse `KEY=VALUE` texts as settings.

    Args:
        model: class of the group of settings.
        assignments: the `KEY=VALUE` texts.
        prefix: prefix of all keys, such as `array.`.

    Raises:
        UnknownSettingError: the group has no such key.
        UsageError: a text has no value, or the value is invalid.
    """
    values: dict[str, str] = {}
    for item in assignments or ():
        name, equals, text = item.partition("=")
        key = name.removeprefix(prefix)
        if key not in model.model_fields or not name.startswith(prefix):
            remedy = suggest(name, [prefix + key for key in model.model_fields])
            raise UnknownSettingError(name, where=f"--set {item}", remedy=remedy)
        if not equals:
            raise UsageError("has no '='", where=f"--set {item}", remedy=f"Write --set {name}=VALUE")
        values[key] = text
    try:
        return model.model_validate(values)
    except ValidationError as error:
        from marecg.base.requirements import requirement

        details = error.errors()[0]
        key = str(details["loc"][0])
        raise UsageError(f"{prefix}{key} {requirement(details | {'input': values[key]})}") from error


def array_layout(fs: float | None, assignments: Iterable[str] | None) -> "Layout | None":
    """Return the layout of array files, or `None` without --fs.

    Raises `UsageError` for settings without --fs or invalid settings.
    """
    from ecg_records.readers.arrays.array_layout import Layout

    values = read(Arrays, assignments, "array.").given()
    if fs is None and values:
        raise UsageError("array settings need --fs, the sampling rate in Hz")
    return None if fs is None else Layout(fs, **values)


def code_settings(assignments: Iterable[str] | None) -> dict[str, Any]:
    """Return `--set codes.KEY=VALUE` as arguments of `read_code_table`."""
    return read(Codes, assignments, "codes.").given()


def codes_of(table: Path | None, assignments: Iterable[str]) -> "CodeTable | CodeMapping | None":
    """Return the code table. Without a table, return the mapping of the setting codes.mapping, or `None`.

    Raises:
        UsageError: there are settings for a table but no table, or a setting doesn't fit the table.
        InputError: the table or the mapping can't be read.
    """
    from ecg_ontology import CodeMapping, read_code_table

    values = code_settings(assignments)
    if table is not None:
        return read_code_table(table, **values)
    if values.keys() - {"mapping"}:
        raise UsageError("settings codes.KEY need --codes, a table of codes")
    return CodeMapping.read(values["mapping"]) if values else None


def described(command: str) -> Iterator[tuple[str, str, str]]:
    """Yield the key, default and description of each setting of a command."""
    for group, model in OF_COMMAND[command]().items():
        yield from _fields(model, group)


def _fields(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str, str]]:
    for name, field in model.model_fields.items():
        types = [part for part in (field.annotation, *get_args(field.annotation)) if isinstance(part, type)]
        inner = [part for part in types if issubclass(part, BaseModel)]
        if inner:
            yield from _fields(inner[0], f"{prefix}{name}.")
        else:
            extra = field.json_schema_extra
            text = field.description or (extra.get("source", "") if isinstance(extra, dict) else "")
            no_default = (
                field.is_required() or field.default_factory is not None or field.default in (None, (), "")
            )
            yield f"{prefix}{name}", "" if no_default else str(field.default), str(text)


def owners(name: str) -> str:
    """Return the sentence " It is a setting of …." with the commands that have the setting, or ""."""
    # All keys of train have a dot. Skipping train avoids a slow import.
    candidates = [command for command in OF_COMMAND if command != "train" or "." in name]
    commands = [command for command in candidates if name in _keys(command)]
    return f" It is a setting of {', '.join(commands)}." if commands else ""


def _keys(command: str) -> set[str]:
    try:
        return {key for key, _, _ in described(command)}
    except ImportError:  # the package of the command isn't installed
        return set()
