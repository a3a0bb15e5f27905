"""Make a micro-batch of noise with labels and beats, for timing steps.

Shapes: B records, C leads, L samples, K beats, N concepts, T patches.
"""

import numpy as np
import torch

from ecg_ontology import Ontology
from ecg_records.signal.leads import LEADS
from marecg.model.batch import Batch, Supervision
from marecg.recipes import Config

CODES = (["164889003"], ["54329005"], ["426783006"], ["713427006"])
"""Codes of the records: atrial fibrillation, anterior infarction, sinus rhythm, right bundle branch block."""


def noise_batch(records: int, ontology: Ontology, config: Config) -> Batch:
    """Return a batch at the recipe's size, on the CPU. It is always the same."""
    draw = torch.Generator().manual_seed(0)
    y = ontology.leaf_multi_hot([CODES[record % len(CODES)] for record in range(records)])
    window = config.data.window
    family_BN = y @ np.equal.outer(ontology.families, ontology.families)
    root_N = np.array([node.root for node in ontology.nodes])
    supervision = Supervision(
        y_BN=torch.from_numpy(y.astype(bool)),
        target_BN=torch.from_numpy(ontology.soft_targets(y)).float(),
        rpeaks_BK=torch.arange(200, config.model.context - 100, 400).repeat(records, 1),
        mean_rr_B=torch.full((records,), 0.8),
        rr_cv_B=torch.rand(records, generator=draw),
        rate_B=torch.arange(records) % 3,
        alternates_B=torch.zeros(records),
        phase_BT=torch.ones(records, config.model.patches(window), dtype=torch.int8),
        root_BN=torch.from_numpy((family_BN > 0) & root_N),
    )
    d_BCL = (1000 * torch.randn(records, len(LEADS), window, generator=draw)).to(torch.int16)
    return Batch(0, torch.arange(records), d_BCL, torch.full((records,), window), supervision)
