import numpy as np
import torch

from marecg.config import ModelConfig
from marecg.evaluate.methods.encoder import encoder, random_encoder, weights_sha256
from marecg.use.embed import embed

CONFIG = ModelConfig(width=16, depth=1, heads=2, mlp_ratio=1, concept_width=8)


def signals(*lengths: int) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [generator.normal(size=(12, length)).astype(np.float32) for length in lengths]


def test_no_parameter_and_no_buffer_changes_and_none_gets_a_gradient():
    model = random_encoder(CONFIG)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    encoder("encoder", model).compute(signals(5000, 3500, 1000))
    after = model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not model.training


def test_features_do_not_depend_on_the_mode_that_the_model_was_left_in():
    model = random_encoder(CONFIG)
    expected = encoder("encoder", model).compute(signals(3500))
    np.testing.assert_array_equal(encoder("encoder", model.train()).compute(signals(3500)), expected)


def test_recordings_of_different_lengths_keep_their_order():
    model = random_encoder(CONFIG)
    batch = signals(5000, 3500, 5000, 1000)
    together = encoder("encoder", model).compute(batch)
    for x_CL, h_D in zip(batch, together, strict=True):
        np.testing.assert_allclose(h_D, embed(model, x_CL[None], fs=500).rhythm[0], atol=1e-5)


def test_the_hash_of_a_model_follows_its_weights_and_its_shape():
    one, same, other = random_encoder(CONFIG, 1), random_encoder(CONFIG, 1), random_encoder(CONFIG, 2)
    assert weights_sha256(one) == weights_sha256(same) != weights_sha256(other)
    with torch.no_grad():
        same.prototypes[0, 0] += 1e-6
    assert weights_sha256(one) != weights_sha256(same)
    assert encoder("a", one).sha256 != encoder("a", other).sha256


def test_a_random_encoder_leaves_torchs_random_state_alone():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    random_encoder(CONFIG)
    assert torch.equal(torch.rand(3), expected)


def test_features_are_as_wide_as_the_encoder():
    assert encoder("encoder", random_encoder(CONFIG)).compute(signals(3500)).shape == (1, 16)
