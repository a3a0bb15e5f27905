"""From named losses to L: eq. patch-rhythm-loss, eq. msps-loss, eq. mgca-loss and eq. total-loss."""

from collections.abc import Mapping

from torch import Tensor

from marecg.config import Config, MpctConfig, MspsConfig, Objective


def msps_loss(named: Mapping[str, Tensor], msps: MspsConfig) -> Tensor:
    """L_MSPS = λ_rhythm L_PatchRhythm + λ_pos L_PatchPos."""
    patch_rhythm = (
        msps.alpha_alt * named["alt"]
        + msps.alpha_rate * named["rate"]
        + msps.alpha_mrr * named["mrr"]
        + msps.alpha_cv * named["cv"]
    )
    patch_position = named["seq"] + named["phase"]
    return msps.lambda_rhythm * patch_rhythm + msps.lambda_pos * patch_position


def mpct_loss(named: Mapping[str, Tensor], mpct: MpctConfig) -> Tensor:
    """L_MPCT = β_ICA L_ICA + β_BCA L_BCA + β_OPA L_OPA."""
    return mpct.beta_ica * named["ica"] + mpct.beta_bca * named["bca"] + mpct.beta_opa * named["opa"]


def total_loss(named: Mapping[str, Tensor], config: Config, epoch: float) -> Tensor:
    """L = L_AR + λ_JEPA L_JEPA + λ_view L_view + λ_GSCL L_GSCL + L_MSPS + λ_MPCT L_MPCT.

    Args:
        named: the losses of every objective that the recipe has.
        config: the recipe; an objective's coefficient rises linearly over its `ramp_epochs`.
        epoch: how far the run is, in epochs of its full length.
    """
    terms: list[tuple[Objective, Tensor]] = [(config.ar, named["recon"] + named["mask"])]
    if config.jepa is not None:
        terms.append((config.jepa, named["jepa"]))
    if config.view is not None:
        terms.append((config.view, named["view"]))
    if config.gscl is not None:
        terms.append((config.gscl, named["gscl"]))
    if config.msps is not None:
        terms.append((config.msps, msps_loss(named, config.msps)))
    if config.mpct is not None:
        terms.append((config.mpct, mpct_loss(named, config.mpct)))
    return sum(
        (objective.weight * ramp(epoch, objective.ramp_epochs) * loss for objective, loss in terms),
        start=named["recon"].new_zeros(()),
    )


def ramp(epoch: float, ramp_epochs: float) -> float:
    """Linear from 0 to 1 over `ramp_epochs` (§sec:values: E_ramp); 1 where there is no ramp."""
    return min(1.0, epoch / ramp_epochs) if ramp_epochs else 1.0
