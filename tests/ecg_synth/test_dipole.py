"""The dipole and its projection."""

import numpy as np

from ecg_synth import Noise, record
from ecg_synth.corpus import quantised
from ecg_synth.dipole import DOWER, INDEPENDENT, Bumps, project, twelve, vectorcardiogram
from ecg_synth.leads import LEADS
from ecg_synth.noise import ELECTRODES_TO_LEADS

INVERSE_DOWER = np.array(
    [
        [0.156, -0.010, -0.172, -0.074, 0.122, 0.231, 0.239, 0.194],
        [-0.227, 0.887, 0.057, -0.019, -0.106, -0.022, 0.041, 0.048],
        [0.022, 0.102, -0.229, -0.310, -0.246, -0.063, 0.055, 0.108],
    ]
)
"""Edenbrandt & Pahlm, J Electrocardiol 21 (1988) 361, in the order I, II, V1–V6."""


def lead(name: str) -> int:
    return LEADS.index(name)


def test_the_projection_has_the_published_inverse():
    assert np.allclose(np.linalg.pinv(DOWER), INVERSE_DOWER, atol=2e-3)


def test_limb_leads_obey_einthoven_and_goldberger_in_noise_and_in_integers():
    made = record("PVC", rng=np.random.default_rng(1))
    x = made.leads_mv

    assert np.allclose(x[lead("I")] + x[lead("III")], x[lead("II")], atol=1e-12)
    assert np.allclose(x[lead("aVR")] + x[lead("aVL")] + x[lead("aVF")], 0, atol=1e-12)
    assert np.allclose(x[lead("aVR")], -(x[lead("I")] + x[lead("II")]) / 2, atol=1e-12)
    steps = quantised(x).astype(int)
    assert (steps[lead("I")] + steps[lead("III")] == steps[lead("II")]).all()


def test_noise_of_an_electrode_reaches_the_leads_that_it_is_part_of():
    """1 mV at the right arm, the left arm, the left leg, and C1, each alone; rows I, II, V1 … V6."""
    seen = np.round(ELECTRODES_TO_LEADS, 4).T
    assert seen[0].tolist() == [-1, -1, *[-0.3333] * 6]
    assert seen[1].tolist() == [1, 0, *[-0.3333] * 6]
    assert seen[2].tolist() == [0, 1, *[-0.3333] * 6]
    assert seen[3].tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    assert not ELECTRODES_TO_LEADS.sum(1)[2:].round(12).any(), "what all electrodes have isn't a voltage"


def test_a_clean_record_is_the_projection_of_its_dipole():
    made = record("RBBB", rng=np.random.default_rng(2), noise=Noise().times(0))

    assert np.allclose(made.leads_mv, twelve(project(made.vcg_mv)))
    assert np.linalg.matrix_rank(made.leads_mv, tol=1e-6) == 3


def test_a_bump_peaks_where_and_as_high_as_it_says():
    bump = Bumps(np.array([0.5]), np.array([0.01]), np.array([0.03]), np.array([[1.0, -2.0, 0.5]]))
    vcg = vectorcardiogram(bump, 500, 500)

    assert np.allclose(vcg[:, 250], [1.0, -2.0, 0.5])
    assert np.allclose(vcg[:, 245], np.exp(-0.5) * vcg[:, 250])
    assert np.allclose(vcg[:, 265], np.exp(-0.5) * vcg[:, 250])


def test_bumps_at_the_edges_and_outside_draw_only_what_reaches_in():
    def drawn(centre, start):
        bump = Bumps(np.array([centre]), np.full(1, 0.05), np.full(1, 0.05), np.ones((1, 3)))
        return vectorcardiogram(bump, 500, 1000)[:, start : start + 100]

    assert np.allclose(drawn(-0.02, 0), drawn(0.98, 500))
    assert not drawn(-9.0, 0).any()
    assert not drawn(9.0, 900).any()


def test_leads_that_are_free_are_named_once():
    assert len(INDEPENDENT) == 8
    assert set(INDEPENDENT) < set(LEADS)
