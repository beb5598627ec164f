"""Direct convolutions of pairs of bfloat16 against float64 sums, on a processor that multiplies them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphc_codegen.errors import CodegenError
from graphc_codegen.scalars.halves import numpy_dtype
from graphc_codegen.target import host
from tests.codegen.kernel_harness import Array, random, run_kernel, run_twin
from tests.codegen.kernels.conv.test_conv import Case

CASES = [
    Case(2, 1, 6, 32, 32, 5, 5),
    Case(1, 3, 9, 18, 34, 3, 3),
    Case(2, 16, 17, 17, 17, 3, 3, stride=(2, 2)),
    Case(1, 5, 8, 30, 31, 7, 7, stride=(2, 2)),
    Case(2, 9, 7, 8, 8, 1, 1),
    Case(1, 6, 3, 20, 20, 3, 3, dilation=(3, 3)),
    Case(1, 4, 3, 21, 19, 3, 2, stride=(2, 2), dilation=(2, 2)),
    Case(2, 130, 5, 6, 40, 3, 3),
]


def paired(x: Array, **sizes: Any) -> dict[str, Array]:
    """The words of images [n, c, h, w] of bfloat16 by where they were made."""
    n, c, h, w = x.shape
    p = {
        "n": n,
        "c": c,
        "h": h,
        "w": w,
        "top": 0,
        "left": 0,
        "stride": (1, 1),
        "phases": (1, 1),
        "ph": h,
        "pw": w,
        **sizes,
    }
    told = p | {"halves": (("bfloat16", (0,)),)}
    made = {f"{lanes} lanes": run_kernel("pair_channels", told, x, lanes=lanes)[0] for lanes in (4, 8, 16)}
    made["threads"] = run_kernel("pair_channels", told, x, divided=True)[0]
    made["float32"] = run_kernel("pair_channels", p, x.astype(np.float32))[0]
    return made | {"twin": run_twin("pair_channels", told, x)[0]}


@pytest.mark.parametrize("channels", [1, 2, 5])
@pytest.mark.parametrize(
    "sizes",
    [
        {"ph": 9, "pw": 40},
        {"ph": 13, "pw": 45, "top": 2, "left": 3},
        {"ph": 5, "pw": 22, "top": 1, "left": 1, "stride": (2, 2), "phases": (2, 2)},
        {"ph": 5, "pw": 23, "top": 0, "left": 2, "stride": (2, 2), "phases": (1, 2)},
        {"ph": 4, "pw": 60, "top": 1, "left": 17, "stride": (3, 1), "phases": (3, 1)},
        {"ph": 5, "pw": 19, "top": 0, "left": 0, "stride": (2, 2), "phases": (1, 1)},
        {"ph": 6, "pw": 35, "top": -2, "left": -3},
        {"ph": 12, "pw": 41, "top": -1, "left": 2},
    ],
)
def test_pairs_of_channels(channels: int, sizes: dict[str, Any]) -> None:
    x = random(1, 3, channels, 9, 40).astype(numpy_dtype("bfloat16"))
    made = paired(x, **sizes)
    wanted = made.pop("twin").tobytes()
    assert {where: words.tobytes() == wanted for where, words in made.items()} == dict.fromkeys(made, True)


def halves_of(words: Array, planes: int) -> Array:
    """Both numbers of pairs, as planes."""
    return words.view(numpy_dtype("bfloat16")).reshape(planes, -1, 2).transpose(0, 2, 1).astype(np.float64)


def test_a_pair_has_the_even_channel_below() -> None:
    x = random(1, 2, 3, 4, 5).astype(numpy_dtype("bfloat16"))
    words = paired(x, top=1, ph=5)["twin"]
    planes = halves_of(words, 4).reshape(2, 4, 5, 5)
    assert (planes[:, :3, 1:] == x.astype(np.float64)).all()
    assert not planes[:, 3].any()
    assert not planes[:, :, 0].any()


@pytest.mark.parametrize("block", [{}, {"block": 16}], ids=["", "block"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.ci}-{c.co}-{c.kh}-{c.stride[0]}-{c.dilation[0]}")
def test_convolution(case: Case, block: dict[str, int]) -> None:
    bfloat16 = numpy_dtype("bfloat16")
    x = random(1, case.n, case.ci, case.height, case.width).astype(bfloat16)
    weight = random(2, case.co, case.ci, case.kh, case.kw).astype(bfloat16)
    exact = case.forward(x.astype(np.float64), weight.astype(np.float64))
    scale = 1 + case.forward(*(np.abs(each.astype(np.float64)) for each in (x, weight)))
    p = case.params() | {"pairs": True, "ci": -(-case.ci // 2)} | block
    words = paired(x, ph=p["h"], pw=p["w"], stride=case.stride, phases=case.stride)["twin"]
    taps = weight.reshape(case.co, case.ci, 1, -1)
    turned = weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3).reshape(1, case.ci, 1, -1)
    for transposed, given in ((False, taps), (True, np.ascontiguousarray(turned))):
        told, factor = p | {"transposed": transposed}, paired(given)["twin"]
        made = {"twin": run_twin("conv2d", told, words, factor)[0]}
        if host().bfloat16:
            made |= {
                "alone": run_kernel("conv2d", told, words, factor, bfloat16=True)[0],
                "threads": run_kernel("conv2d", told, words, factor, divided=True)[0],
            }
        for where, y in made.items():
            assert (np.abs(y.reshape(exact.shape) - exact) <= 1e-6 * scale).all(), (where, transposed)


def test_other_processors_have_no_pairs() -> None:
    case = CASES[0]
    p = case.params() | {"pairs": True, "ci": 1, "transposed": False}
    with pytest.raises(CodegenError, match="pairs of bfloat16"):
        run_kernel("conv2d", p, random(1, 2, 1, 32, 32), random(2, 6, 1, 5, 5))
