import numpy as np
import torch

from marecg.embedding.embed import embed
from marecg.evaluate.methods.frozen_encoder import encoder, random_control, random_encoder
from marecg.model.config import ModelConfig
from marecg.model.pretrained import weights_sha256
from marecg.model.readout import wide_columns

CONFIG = ModelConfig(width=16, depth=1, heads=2, mlp_ratio=1, concept_width=8)


def signals(*lengths: int) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [generator.normal(size=(12, length)).astype(np.float32) for length in lengths]


def test_no_parameter_and_no_buffer_changes_and_none_gets_a_gradient():
    model = random_encoder(CONFIG)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    expected = encoder(model).compute(signals(5000, 3500, 1000))
    after = model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert all(parameter.grad is None for parameter in model.parameters())
    again = encoder(model.train()).compute(signals(5000, 3500, 1000))
    np.testing.assert_array_equal(again, expected, err_msg="whatever mode the model was left in")
    assert not model.training


def test_recordings_of_different_lengths_keep_their_order():
    model, batch = random_encoder(CONFIG), signals(5000, 3500, 5000, 1000)
    alone = [embed(model, x_CL[None], fs=500, readout="wide").wide[0] for x_CL in batch]
    np.testing.assert_allclose(encoder(model).compute(batch), alone, atol=1e-5)


def test_the_hash_of_a_model_follows_its_weights_and_its_shape():
    one, same, other = random_encoder(CONFIG, 1), random_encoder(CONFIG, 1), random_encoder(CONFIG, 2)
    assert weights_sha256(one) == weights_sha256(same) != weights_sha256(other)
    with torch.no_grad():
        same.prototypes[0, 0] += 1e-6
    assert weights_sha256(one) != weights_sha256(same)
    assert encoder(one).sha256 != encoder(other).sha256


def test_a_random_encoder_leaves_torchs_random_state_alone():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    random_encoder(CONFIG)
    assert torch.equal(torch.rand(3), expected)


def test_one_pass_gives_h_rhythm_the_wide_readout_and_the_mean_of_h():
    model = random_encoder(CONFIG)
    method, batch = encoder(model), signals(5000)
    x_BF = method.compute(batch)
    rows = {name: x_BF[:, row.columns] for name, row in method.rows.items()}
    widths = {"encoder": 16, "encoder, wide": 268, "encoder, mean H": 16}
    assert {name: x.shape for name, x in rows.items()} == {name: (1, width) for name, width in widths.items()}
    expected = embed(model, batch[0][None], fs=500)
    np.testing.assert_array_equal(rows["encoder"], expected.rhythm)
    windows = [embed(model, batch[0][None, :, start : start + 3500], fs=500) for start in (0, 1500)]
    mean_D = np.mean([window.patch[0].mean(0) for window in windows], axis=0)
    np.testing.assert_allclose(rows["encoder, mean H"][0], mean_D, atol=1e-5)
    with torch.no_grad():
        model.pool.aggregate[2].bias[0] = 1e-3
    assert list(encoder(model).rows) == ["encoder", "encoder, wide"], "a trained pool has no row round it"


def test_the_random_encoder_is_read_like_the_reference():
    model = random_encoder(CONFIG)
    assert list(random_control(model).rows) == ["random encoder"]
    assert list(random_control(model, "wide").rows) == ["random encoder", "random encoder, wide"]


def test_the_parts_of_the_beat_readout_weigh_alike_in_both_encoders():
    model = random_encoder(CONFIG)
    read, beside = encoder(model, "beats"), random_control(model, "beats")
    assert list(read.rows) == ["encoder", "encoder, wide", "encoder, mean H", "encoder, beats"]
    assert list(beside.rows) == ["random encoder", "random encoder, beats"]
    x_BF, columns = read.compute(signals(5000)), wide_columns(CONFIG, "beats")
    np.testing.assert_allclose(
        x_BF[:, read.rows["encoder, wide"].columns], encoder(model).compute(signals(5000))
    )
    weight_F = read.rows["encoder, beats"].weight_F
    np.testing.assert_array_equal(weight_F, beside.rows["random encoder, beats"].weight_F)
    heavy = [np.square(weight_F[part]).sum() for part in columns.values()]
    np.testing.assert_allclose(heavy, CONFIG.width, rtol=1e-5)
    assert x_BF.shape == (1, len(weight_F))
