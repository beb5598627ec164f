"""Record primitives that few programs use: `python ms_rare.py ms_rare.json`, with MindSpore 2.10.

Each case is an expression over operands a, b, ...; its record holds the results. A case that MindSpore cannot run on a CPU is
left out, with a line on stderr. `tests/ops/test_rare_primitives.py` evaluates the same expressions.
"""

from __future__ import annotations

import functools
import json
import sys
from typing import Any

import numpy as np


def f(*values: Any) -> Any:
    """float32."""
    return np.array(values, np.float32)


def i(*values: Any) -> Any:
    """int32."""
    return np.array(values, np.int32)


DRAWS = np.random.RandomState(3)
IMAGE = DRAWS.randint(1, 99, (2, 4, 5, 2)).astype(np.float32)
VOLUME = np.arange(1, 49, dtype=np.float32).reshape(1, 2, 2, 3, 4)
WORDS = i([[1, 2, 1, 2, 5, 1, 2], [9, 3, 9, 5, 4, 1, 5]], [[4, 8, 6, 4, 5, 6, 4], [4, 8, 8, 4, 3, 4, 8]])
SCORES = DRAWS.rand(2, 2, 10).astype(np.float32)
OFFSETS = [f([0.5, -0.5], [0, 0]), f([-1, 1], [0.3, 0.9]), f([9, 1], [1.2, 3.6])]
AXES = i(0, 1, 2, 3, -1, -2, -3, -4, 5, -6)
OVERLAPS, MARKS = DRAWS.rand(6, 6).astype(np.float32), f(0.1, 0.9, 0.9, 0.3, 0.5, 0.7)
BOXES = np.sort(DRAWS.rand(2, 7, 3, 2, 2).astype(np.float32) * 1.5 - 0.2, -2).reshape(2, 7, 3, 4)
CHANCES = DRAWS.rand(2, 7, 3).astype(np.float32)

CASES: dict[str, list[Any]] = {
    **{
        f"P.ExtractVolumePatches({how})(a)": [VOLUME]
        for how in (
            "2, 1, 'valid'",
            "[1, 2, 3], [1, 1, 2], 'SAME'",
            "[1, 1, 2, 2, 3], (1, 1, 2, 1, 2), 'same'",
            "1, 2, 'VALID'",
        )
    },
    "P.ExtractVolumePatches(2, 1, 'same')(a)": [VOLUME.astype(np.int32)],
    **{
        f"P.ExtractGlimpse({a}, {b}, False, 'zero')(a, T([{size}], ms.int32), b)": [IMAGE, OFFSETS[k]]
        for a, b, size, k in (
            (True, True, "3, 2", 0),
            (True, True, "7, 7", 1),
            (True, False, "2, 3", 2),
            (False, True, "3, 3", 1),
            (False, False, "3, 3", 2),
            (False, False, "1, 1", 0),
            (True, False, "4, 5", 1),
        )
    },
    **{f"P.DataFormatDimMap({how})(a)": [AXES] for how in ("", "'NCHW', 'NHWC'", "'NCHW', 'NCHW'")},
    "P.DataFormatDimMap()(a).astype(ms.int64)": [i([2], [-1])],
    "P.DataFormatVecPermute()(a)": [i(1, 2, 3, 4)],
    "P.DataFormatVecPermute('NCHW', 'NHWC')(a)": [np.arange(8).reshape(4, 2)],
    "P.DataFormatVecPermute('NHWC', 'NHWC')(a)": [i(4, 3, 2, 1)],
    "P.CompareAndBitpack()(a, T(50.0, ms.float32))": [IMAGE.reshape(5, 16)],
    "P.CompareAndBitpack()(a, T(-3, ms.int8))": [np.arange(-8, 8, dtype=np.int8)],
    "P.CompareAndBitpack()(a, T(True, ms.bool_))": [np.array([True, False, True, True] * 4)],
    "P.CompareAndBitpack()(a, T(0.25, ms.float16))": [SCORES.reshape(5, 8).astype(np.float16)],
    "P.ParallelConcat()((a, b))": [f([0, 1]), f([2, 3])],
    "P.ParallelConcat()([a])": [i([[0, 1]])],
    **{f"P.NoRepeatNGram({n})(a, b)": [WORDS, SCORES] for n in (1, 2, 3)},
    **{
        f"P.ScaleAndTranslate('{kernel}', {aa})(a, T([{size}], ms.int32), T([{scale}]), T([{move}]))": [IMAGE]
        for kernel in ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic")
        for aa, size, scale, move in (
            (True, "4, 3", "1.3, 0.6", "0.5, -0.2"),
            (False, "3, 7", "0.4, 1.7", "0.0, 1.3"),
        )
    },
    "P.ScaleAndTranslate()(a, T([2, 2], ms.int32), T([1.0, 1.0]), T([1.0, 1.0]))": [IMAGE.astype(np.int32)],
    **{
        f"P.NonMaxSuppressionWithOverlaps()(a, b, whole({most}), number({t}), number({s}))": [
            OVERLAPS,
            MARKS,
        ]
        for most, t, s in ((6, 0.5, 0.0), (2, 0.5, 0.0), (0, 0.5, 0.1), (6, 0.2, 0.4), (6, 0.9, 0.9))
    },
    **{
        f"P.CombinedNonMaxSuppression({a}, {b})(a, b, whole({e}), whole({n}), number({t}), number(0.1))": [
            BOXES[..., :q, :],
            CHANCES,
        ]
        for a, b, e, n, t, q in (
            (False, True, 3, 5, 0.5, 1),
            (False, False, 2, 12, 0.3, 3),
            (True, False, 2, 12, 0.3, 3),
            (True, True, 4, 4, 0.0, 1),
            (False, False, 9, 20, 1.0, 3),
        )
    },
    "P.MatrixLogarithm()(a)": [np.array([[1 + 2j, 2 + 1j], [4 + 1j, 5 + 2j]], np.complex64)],
    "P.MatrixLogarithm()(a)  # complex128": [np.array([[[2, 1], [0, 3j]], [[1, 0.5j], [0.25, -2]]], np.complex128)],
    "P.MatrixLogarithm()(a)  # none": [np.zeros((0, 2, 2), np.complex64)],
    "P.NoRepeatNGram(2)(a, b)  # float16": [WORDS, SCORES.astype(np.float16)],
}


def results(made: Any) -> list[Any]:
    """The tensors of a result, as arrays; complex numbers as pairs."""
    arrays = [x.asnumpy() for x in (made if isinstance(made, (tuple, list)) else (made,))]
    return [np.stack([a.real, a.imag], -1) if a.dtype.kind == "c" else a for a in arrays]


def function(name: str, primitives: Any, framework: Any) -> Any:
    """The case as a function of its operands, in either framework."""
    scope = {"P": primitives, "T": framework.Tensor, "ms": framework, "np": np}
    for name_, dtype in (("whole", framework.int32), ("number", framework.float32)):
        scope[name_] = functools.partial(framework.Tensor, dtype=dtype)
    return eval(f"lambda {', '.join('abcdef'[: len(CASES[name])])}: {name}", scope)


def main() -> None:
    """Record all cases."""
    import mindspore
    from mindspore.ops import operations

    made = {}
    for name, operands in CASES.items():
        try:
            found = results(function(name, operations, mindspore)(*map(mindspore.Tensor, operands)))
        except Exception as error:
            print(f"left out {name}: {str(error)[:90]!r}", file=sys.stderr)
            continue
        made[name] = [
            {"shape": a.shape, "dtype": str(a.dtype), "values": [float(f"{v:.7g}") for v in a.ravel().tolist()]}
            for a in found
        ]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in made.items()) + "\n}\n")


if __name__ == "__main__":
    main()
