"""Implement other published methods with MAR-ECG's encoder and corpus, for comparison.

research/comparators/comparison.md lists the differences from their papers.
"""

from marecg.objectives.objective import ObjectiveConfig
from marecg_research.comparators.astcl import AstclConfig
from marecg_research.comparators.clocs import ClocsConfig
from marecg_research.comparators.cpc import CpcConfig
from marecg_research.comparators.crt import CrtConfig
from marecg_research.comparators.labels import LabelsConfig
from marecg_research.comparators.masked_patches import MaeConfig, StmemConfig
from marecg_research.comparators.momentum import ByolConfig, DinoConfig, MocoConfig
from marecg_research.comparators.tstcc import TstccConfig
from marecg_research.comparators.two_views import BarlowConfig, SimclrConfig, SimsiamConfig

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
    "cpc": CpcConfig,
    "labels": LabelsConfig,
}
"""Settings of each method, by its name in recipes."""
