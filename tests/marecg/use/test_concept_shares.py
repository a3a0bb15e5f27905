"""What `predict` gives knows its concepts by name, and is used as the array that it was."""

import pickle

import numpy as np
import pytest

from marecg.embedding.embed import embed
from marecg.errors import UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.use.predict import concepts, predict


@pytest.fixture(scope="module")
def knowing(micro) -> MarEcg:
    model = MarEcg(micro.model)
    model.prototypes.normal_()
    return model


def test_shares_are_read_by_name_and_as_the_array_they_were(knowing):
    x = np.random.default_rng(0).normal(0, 0.3, (3, 12, 2000)).astype(np.float32)
    shares = predict(knowing, x, fs=500, device="cpu")
    array = concepts(knowing, embed(knowing, x, fs=500).rhythm)
    np.testing.assert_array_equal(np.asarray(shares), array)
    assert (shares.shape, shares.dtype, len(shares)) == (array.shape, np.float32, 3)
    assert shares[0].argmax() == array[0].argmax()
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-5)
    number, name = next((node.index, node.abbr) for node in knowing.ontology.nodes if node.abbr == "AF")
    np.testing.assert_array_equal(shares[name], array[:, number])
    assert shares.id2label[number] == "Atrial fibrillation"
    frame = shares.to_frame()
    assert list(frame.columns) == list(shares.concepts)
    np.testing.assert_array_equal(frame.to_numpy(), array)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(shares)).to_frame(), frame)  # noqa: S301 (our own)
    with pytest.raises(UsageError, match="unknown concept 'Afib'"):
        shares["Afib"]
