"""Initial values: the bits MindSpore makes, and what is refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn
from graphc.nn.initializer import distributions as init
from graphc.nn.initializer import draws, structured
from graphc.nn.initializer.draws import philox
from graphc.nn.initializer.make import initializer
from graphc.nn.initializer.quantiles import normal_quantile

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_initializers.json").read_text())["cases"]


@pytest.mark.parametrize("threads", [1, 3])
def test_many_numbers_are_made_in_pieces(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for piece, cpus in ((1 << 12, threads), (1 << 20, 1)):
        monkeypatch.setattr(draws, "_CHUNK", piece)
        monkeypatch.setattr(draws, "cpus", lambda cpus=cpus: cpus)
        np.random.seed(3)
        made.append(draws.normal((9, 4099), 0.0, 1.0))
    assert made[0].tobytes() == made[1].tobytes()


@pytest.mark.parametrize("case", RECORDED, ids=lambda c: f"{c['name']}-{c['seed']}")
def test_bits_are_those_recorded_from_mindspore(case: dict[str, Any]) -> None:
    np.random.seed(case["seed"])
    made = initializer(getattr(init, case["name"])(**case["kwargs"]), case["shape"]).asnumpy()
    assert made.dtype == np.float32
    assert made.shape == tuple(case["shape"])
    bits = made.view(np.uint32).reshape(-1)
    assert bits[:8].tolist() == case["first"]
    assert hashlib.sha256(bits.tobytes()).hexdigest() == case["sha256"]


def test_philox_gives_the_published_vectors() -> None:
    """Known answers of Random123 for Philox4x32-10; here the key is the seed, the counter (block, seed)."""
    assert [hex(v) for v in philox(0, 0, 4)] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]
    whole = philox(123456789 << 33, 0, 4096)
    assert np.array_equal(whole[1024:2048], philox(123456789 << 33, 1024, 1024))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("normal", init.Normal),
        ("uniform", init.Uniform),
        ("he_uniform", init.HeUniform),
        ("he_normal", init.HeNormal),
        ("xavier_uniform", init.XavierUniform),
        ("truncated_normal", init.TruncatedNormal),
        ("TruncatedNormal", init.TruncatedNormal),
    ],
)
def test_names_mean_the_classes(name: str, kind: type[init.Initializer]) -> None:
    graphc.set_seed(3)
    by_name = initializer(name, (4, 5)).asnumpy()
    graphc.set_seed(3)
    assert np.array_equal(by_name, initializer(kind(), (4, 5)).asnumpy())


def test_constants() -> None:
    assert np.array_equal(initializer("zeros", (2, 3)).asnumpy(), np.zeros((2, 3), np.float32))
    assert np.array_equal(initializer("ones", 3).asnumpy(), np.ones(3, np.float32))
    assert np.array_equal(initializer(2.5, [2]).asnumpy(), np.full(2, 2.5, np.float32))
    whole = initializer(init.Constant(7), (2,), graphc.int32)
    assert whole.dtype == graphc.int32
    assert whole.asnumpy().tolist() == [7, 7]


def test_constants_take_no_random_numbers() -> None:
    graphc.set_seed(9)
    wanted = np.random.randint(1 << 30)
    graphc.set_seed(9)
    initializer("zeros", (5,))
    assert np.random.randint(1 << 30) == wanted


def test_a_tensor_is_returned_as_it_is() -> None:
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert initializer(x, (2, 3)) is x
    with pytest.raises(graphc.ShapeError, match=r"init is f32\[2,3\], the shape asked for is \(3, 2\)"):
        initializer(x, (3, 2))


def test_a_seed_decides_all_weights() -> None:
    def weights() -> list[Any]:
        graphc.set_seed(42)
        net = nn.SequentialCell(nn.Dense(4, 3), nn.Dense(3, 2))
        return [p.asnumpy() for p in net.get_parameters()]

    first, second = weights(), weights()
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert graphc.get_seed() == 42
    assert not np.array_equal(nn.Dense(4, 3).weight.asnumpy(), first[0])


#: Layer -> its parameters' first two numbers after set_seed(1), as MindSpore 2.10 made them.
SEEDED = {
    nn.Dense: [(0.4122728, -0.36132878), (-0.2829766, -0.02362064)],
    nn.GRU: [(-0.09581473, 0.2544088), None, None, None],
    nn.LSTMCell: [(0.3805265, -0.2390282), (0.4575309, 0.517327), (0.19170585, 0.42772946), (-0.18421678, -0.24237396)],
}
TWO_WAYS = {
    "weight_ih_l0_reverse": (-0.2656644, 0.45713),
    "weight_hh_l1": (-0.21333693, 0.4536688),
    "bias_hh_l1_reverse": (-0.4117396, -0.48683688),
}


def test_a_seed_gives_layers_the_weights_of_mindspore() -> None:
    for layer, wanted in SEEDED.items():
        graphc.set_seed(1)
        for p, numbers in zip(layer(2, 3).get_parameters(), wanted, strict=True):
            assert numbers is None or p.asnumpy().reshape(-1)[:2] == pytest.approx(numbers, rel=1e-6), (layer, p.name)
    graphc.set_seed(1)
    made = nn.LSTM(2, 3, num_layers=2, bidirectional=True).parameters_dict()
    for name, numbers in TWO_WAYS.items():
        assert made[name].asnumpy().reshape(-1)[:2] == pytest.approx(numbers, rel=1e-6), name


def test_bounds_and_moments() -> None:
    bound = np.sqrt(6 / (300 + 200))
    x = initializer(init.XavierUniform(), (200, 300)).asnumpy()
    assert np.abs(x).max() <= bound
    assert x.std() == pytest.approx(bound / np.sqrt(3), rel=0.01)
    x = initializer(init.HeNormal(nonlinearity="relu"), (200, 300)).asnumpy()
    assert x.std() == pytest.approx(np.sqrt(2 / 300), rel=0.01)
    x = initializer(init.TruncatedNormal(sigma=1.0, a=-0.5, b=1.0), (100, 100)).asnumpy()
    assert x.min() >= -0.5
    assert x.max() <= 1.0


def test_quantiles_are_those_of_one_number_at_a_time() -> None:
    rng = np.random.default_rng(0)
    tails = 10.0 ** -rng.uniform(0, 300, 1000)
    p = np.concatenate([rng.random(20000), tails, np.minimum(1 - tails, 1 - 2.0**-53), [0.075, 0.5, 0.925, 2.0**-1022]])
    one = NormalDist()
    np.testing.assert_allclose(normal_quantile(p), [one.inv_cdf(x) for x in p], rtol=1e-15, atol=0)
    assert normal_quantile(p[:12].reshape(3, 4)).shape == (3, 4)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: initializer("gauss", (2,)), ValueError, "init must be one of 'zeros'"),
        (lambda: initializer(None, (2,)), TypeError, "init must be a name, a number"),
        (lambda: initializer("zeros"), ValueError, "shape must be given"),
        (lambda: initializer("zeros", (2, 0)), ValueError, "must be at least 1, got 0"),
        (lambda: initializer("zeros", (2, 1.5)), TypeError, "must be an int, got float"),
        (lambda: initializer("zeros", "ab"), TypeError, "shape must be an int or a tuple"),
        (lambda: initializer("he_uniform", (3,)), ValueError, "need a weight"),
        (lambda: init.Normal(sigma=-1), ValueError, "sigma must be a finite number >= 0"),
        (lambda: init.HeUniform(mode="both"), ValueError, "mode must be one of 'fan_in', 'fan_out'"),
        (lambda: init.HeUniform(nonlinearity="selu"), ValueError, "nonlinearity must be one of"),
        (lambda: init.TruncatedNormal(a=1.0, b=1.0), ValueError, "b must be greater than a"),
        (
            lambda: initializer(init.TruncatedNormal(a=50.0, b=60.0), (2,)),
            ValueError,
            "holds no numbers",
        ),
        (lambda: initializer(init.Initializer(), (2,)), TypeError, "does not define values"),
        (lambda: graphc.set_seed(-1), ValueError, "seed must lie in"),
        (lambda: graphc.set_seed(1.0), TypeError, "seed must be an int, got float"),
    ],
)
def test_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        make()
    assert isinstance(caught.value, graphc.GraphcError)


def test_custom_initializer() -> None:
    class Ramp(init.Initializer):
        def values(self, shape: tuple[int, ...]) -> Any:
            return np.arange(np.prod(shape)).reshape(shape)

    dense = nn.Dense(2, 2, weight_init=Ramp(), bias_init="ones")
    assert dense.weight.asnumpy().tolist() == [[0, 1], [2, 3]]
    assert dense.weight.dtype == graphc.float32


# ---- of given variance, orthogonal, sparse, identities


@pytest.mark.parametrize(
    ("made", "deviation", "bound"),
    [
        (init.XavierNormal(gain=2.0), 2 * (2 / 500) ** 0.5, None),
        (init.VarianceScaling(2.0, "fan_out", "untruncated_normal"), (2 / 200) ** 0.5, None),
        (init.VarianceScaling(1.0, "fan_in", "truncated_normal"), (1 / 300) ** 0.5, 2.3 * (1 / 300) ** 0.5),
        (init.VarianceScaling(3.0, "fan_avg", "uniform"), (3 / 250) ** 0.5, (9 / 250) ** 0.5),
    ],
)
def test_deviation(made: init.Initializer, deviation: float, bound: float | None) -> None:
    values = initializer(made, (200, 300)).asnumpy()
    assert values.std() == pytest.approx(deviation, rel=0.02)
    assert abs(values.mean()) < deviation / 50
    if bound is not None:
        assert np.abs(values).max() <= bound


@pytest.mark.parametrize(
    ("shape", "first"), [((4, 2, 3), (0.57555217, 1.33012211)), ((5, 3), (0.52483767, 1.70286918))]
)
def test_orthogonal(shape: tuple[int, ...], first: tuple[float, float]) -> None:
    matrix = initializer(structured.Orthogonal(2.0), shape).asnumpy().reshape(shape[0], -1).astype(np.float64)
    rows, columns = matrix.shape
    product = matrix @ matrix.T if rows <= columns else matrix.T @ matrix
    np.testing.assert_allclose(product, 4 * np.eye(min(rows, columns)), atol=1e-5)
    graphc.set_seed(1)
    made = initializer(structured.Orthogonal(2.0), shape).asnumpy().reshape(-1)[:2]
    assert made == pytest.approx(first, rel=1e-5)  # As MindSpore 2.10 made them.


def test_identities_and_sparse() -> None:
    assert initializer("identity", (2, 3)).asnumpy().tolist() == [[1, 0, 0], [0, 1, 0]]
    kept = initializer(structured.Dirac(groups=2), (4, 2, 3)).asnumpy()
    assert kept.sum() == 4
    assert [kept[i, i % 2, 1] for i in range(4)] == [1, 1, 1, 1]
    assert ((initializer(structured.Sparse(0.3), (10, 7)).asnumpy() == 0).sum(0) == 3).all()
    for wrong, shape in (
        (structured.Identity(), (2, 2, 2)),
        (structured.Sparse(0.1), (3,)),
        (structured.Dirac(3), (4, 2, 3)),
    ):
        with pytest.raises(ValueError, match=type(wrong).__name__):
            initializer(wrong, shape)


def test_an_initializer_of_the_users() -> None:
    class Twos(init.Initializer):
        def _initialize(self, array: np.ndarray) -> None:
            array[...] = 2

    assert initializer(Twos(), (2, 2)).asnumpy().tolist() == [[2, 2], [2, 2]]
    assert Tensor(shape=(3,), dtype="float16", init=Twos()).asnumpy().tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="input_data must be given"):
        Tensor(shape=(3,))
