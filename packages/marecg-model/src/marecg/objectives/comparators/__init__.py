"""Methods of others, one file each, on our encoder and corpus: docs/comparison.md lists them."""

from marecg.objectives.comparators.astcl import AstclConfig
from marecg.objectives.comparators.barlow import BarlowConfig
from marecg.objectives.comparators.byol import ByolConfig
from marecg.objectives.comparators.clocs import ClocsConfig
from marecg.objectives.comparators.crt import CrtConfig
from marecg.objectives.comparators.dino import DinoConfig
from marecg.objectives.comparators.labels import LabelsConfig
from marecg.objectives.comparators.mae import MaeConfig
from marecg.objectives.comparators.moco import MocoConfig
from marecg.objectives.comparators.simclr import SimclrConfig
from marecg.objectives.comparators.simsiam import SimsiamConfig
from marecg.objectives.comparators.stmem import StmemConfig
from marecg.objectives.comparators.tstcc import TstccConfig
from marecg.objectives.objective import ObjectiveConfig

COMPARATORS: dict[str, type[ObjectiveConfig]] = {
    "simclr": SimclrConfig,
    "byol": ByolConfig,
    "barlow": BarlowConfig,
    "simsiam": SimsiamConfig,
    "moco": MocoConfig,
    "dino": DinoConfig,
    "mae": MaeConfig,
    "stmem": StmemConfig,
    "clocs": ClocsConfig,
    "tstcc": TstccConfig,
    "astcl": AstclConfig,
    "crt": CrtConfig,
    "labels": LabelsConfig,
}
"""The values of each by the name that recipes have for it."""
