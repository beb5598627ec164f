"""What MindSpore computes with sparse tensors on a CPU (PYNATIVE_MODE), for tests/ops/test_sparse_recorded.py.

Products, row sums and quotients of CSRTensors are not among it: their kernels need a compiler that it does not come with.
`coo_add` adds up equal places of operands in order alone, and `Coalesce` is right when it is first called for a dtype: it keeps
what it has found for the next call.
Run with MindSpore's Python in an empty folder: python ms_sparse.py OUTPUT.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

#: Names of functions of one tensor that there are for both formats.
ELEMENTWISE = (
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp", "expm1", "floor", "inv"),
    *(
        "isfinite",
        "isinf",
        "isnan",
        "log",
        "log1p",
        "neg",
        "relu",
        "relu6",
        "round",
        "sigmoid",
        "sin",
        "sinh",
        "softsign",
    ),
    *("sqrt", "square", "tan", "tanh"),
)
DENSE = np.arange(1, 13).reshape(3, 4).astype(np.float32)
HOLES = np.array([[0, 2, 0], [-3, 0, 0], [0, 0, 4]], np.float32)


class Framework:
    """What cases are made with, in either framework."""

    def __init__(self, module: Any, primitives: Any, layers: Any) -> None:
        self.m, self.o, self.p, self.nn = module, module.ops, primitives, layers

    def t(self, values: Any, dtype: str = "float32") -> Any:
        return self.m.Tensor(np.array(values, dtype))

    def coo(self, values: Any = (1, -2, 4), dtype: str = "float32", index: str = "int64", places: Any = None) -> Any:
        places = [[0, 1], [2, 0], [0, 1]] if places is None else places
        return self.m.COOTensor(self.t(places, index), self.t(values, dtype), (3, 4))

    def csr(
        self,
        values: Any = (1, -2, 3),
        dtype: str = "float32",
        begins: Any = (0, 2, 2, 3),
        columns: Any = (0, 3, 1),
        index: str = "int32",
    ) -> Any:
        return self.m.CSRTensor(self.t(begins, index), self.t(columns, index), self.t(values, dtype), (3, 4))


def _gradient(f: Framework, function: Callable[..., Any], *args: Any) -> Any:
    return f.m.grad(function, tuple(range(len(args))))(*args)


Case = Callable[[Framework], Any]
CASES: dict[str, Case] = {
    # ---- COOTensor
    "coo.to_dense": lambda f: f.coo().to_dense(),
    "coo.coalesce": lambda f: f.coo().coalesce(),
    "coo.astype": lambda f: f.coo().astype(f.m.int32),
    "coo.abs": lambda f: f.coo(index="int32").abs(),
    "coo.neg": lambda f: -f.coo(),
    "coo.to_tuple": lambda f: f.coo().to_tuple()[:2],
    "coo.copy": lambda f: f.m.COOTensor(coo_tensor=f.coo()),
    "coo+tensor": lambda f: f.coo() + f.t(DENSE),
    "tensor+coo": lambda f: f.t(DENSE) + f.coo(),
    "coo-tensor": lambda f: f.coo() - f.t(DENSE),
    "tensor-coo": lambda f: f.t(DENSE) - f.coo(),
    "coo*tensor": lambda f: f.coo() * f.t(DENSE),
    "tensor*coo": lambda f: f.t(DENSE) * f.coo(),
    "coo/tensor": lambda f: f.coo() / f.t(DENSE),
    "coo/tensor_of_integers": lambda f: f.coo(dtype="int32") / f.t(DENSE, "int32"),
    "coo+coo": lambda f: f.coo(places=[[0, 1], [1, 3], [2, 0]]) + f.coo(places=[[0, 0], [0, 1], [2, 2]]),
    "coo-coo": lambda f: f.coo(places=[[0, 1], [1, 3], [2, 0]]) - f.coo(places=[[0, 1], [1, 2], [2, 0]]),
    "coo+coo_of_two_dtypes": lambda f: f.coo(dtype="int32", places=[[0, 1], [1, 3], [2, 0]])
    + f.coo(places=[[0, 1], [2, 1], [2, 2]]),
    "coo.add": lambda f: f.coo(places=[[0, 1], [1, 3], [2, 0]]).add(
        f.coo((1, 3, 1), places=[[0, 1], [1, 3], [2, 2]]), f.t(2)
    ),
    "coo_add": lambda f: f.o.coo_add(
        f.coo((1, 2, -7), "int32", places=[[0, 1], [1, 2], [2, 3]]),
        f.coo((3, 4, 1), "int32", places=[[0, 0], [1, 1], [2, 3]]),
        f.t(3, "int32"),
    ),
    "coo_concat": lambda f: f.o.coo_concat((f.coo(), f.coo()), 0),
    "coo_concat_1": lambda f: f.o.coo_concat((f.coo(), f.coo()), 1),
    "coo_concat_-1": lambda f: f.o.coo_concat((f.coo(), f.coo(), f.coo()), -1),
    "coalesce": lambda f: f.o.coalesce(
        f.t([[2, 0, 0, 1], [0, 1, 1, 2]], "int64"), f.t([1, 5, 4, 2], "float64"), f.t([3, 3], "int64")
    ),
    "Coalesce": lambda f: f.p.Coalesce()(
        f.t([[2, 0, 2], [0, 1, 0], [1, 1, 1]], "int64"), f.t([1, 5, 4], "float16"), f.t([3, 3, 2], "int64")
    ),
    # ---- CSRTensor
    "csr.to_dense": lambda f: f.csr().to_dense(),
    "csr.to_dense_64": lambda f: f.csr(index="int64").to_dense(),
    "csr_to_dense": lambda f: f.o.csr_to_dense(f.csr(dtype="float64")),
    "csr_to_coo": lambda f: f.o.csr_to_coo(f.csr()),
    "csr.abs": lambda f: f.csr().abs(),
    "csr.astype": lambda f: f.csr().astype(f.m.float16),
    "csr.neg": lambda f: -f.csr(),
    "csr.copy": lambda f: f.m.CSRTensor(csr_tensor=f.csr()),
    "csr*number": lambda f: f.csr() * 2.5,
    "csr/number": lambda f: f.csr() / 2,
    "csr*tensor_of_one": lambda f: f.csr() * f.t([2]),
    "csr_mul_of_one": lambda f: f.o.csr_mul(f.csr(), f.t([[2]])),
    "csr_div_of_one": lambda f: f.o.csr_div(f.csr(dtype="int32"), f.t(2, "int32")),
    "csr+csr": lambda f: f.csr() + f.csr((5, 6, 7, 8), begins=(0, 1, 3, 4), columns=(3, 0, 2, 1)),
    "csr-csr": lambda f: f.csr() - f.csr((5, 6, 7, 8), begins=(0, 1, 3, 4), columns=(3, 0, 2, 1)),
    "csr.add": lambda f: f.csr().add(f.csr(), f.t(2), f.t(-1)),
    "csr_add": lambda f: f.o.csr_add(
        f.csr(), f.csr((5, 6, 7), begins=(0, 0, 3, 3), columns=(0, 1, 3)), f.t(0.5), f.t(2)
    ),
    "csr_softmax": lambda f: f.o.csr_softmax(f.csr((1, -2, 3, 0.5), begins=(0, 3, 3, 4), columns=(0, 1, 3, 2)), f.m.float32),
    # ---- of dense tensors
    "to_coo": lambda f: f.t(HOLES).to_coo(),
    "to_csr": lambda f: f.t(HOLES).to_csr(),
    "dense_to_sparse_coo": lambda f: f.o.dense_to_sparse_coo(f.t(HOLES, "int32")),
    "dense_to_sparse_csr": lambda f: f.o.dense_to_sparse_csr(f.t(HOLES, "float64")),
    # ---- primitives and layers
    "SparseToDense": lambda f: f.p.SparseToDense()(f.t([[0, 1], [1, 2], [0, 1]], "int32"), f.t([1, 2, 5]), (2, 3)),
    "SparseTensorDenseMatmul": lambda f: f.p.SparseTensorDenseMatmul()(
        f.t([[0, 1], [1, 2], [0, 1]], "int64"), f.t([1, 2, 3]), (2, 3), f.t(DENSE[:3])
    ),
    "SparseTensorDenseMatmul_adjoint": lambda f: f.p.SparseTensorDenseMatmul(True, True)(
        f.t([[0, 1], [1, 2]], "int32"), f.t([1, 2], "int32"), (2, 3), f.t([[1, 2], [3, 4]], "int32")
    ),
    "SparseTensorDenseAdd": lambda f: f.p.SparseTensorDenseAdd()(
        f.t([[0, 0], [2, 1], [0, 0]], "int64"), f.t([1, 2, 3]), f.t([3, 4], "int64"), f.t(DENSE)
    ),
    "SparseSlice": lambda f: f.p.SparseSlice()(
        f.t([[0, 1], [1, 2], [1, 3], [2, 2]], "int64"),
        f.t([1, 2, 3, 4], "int64"),
        *(f.t(x, "int64") for x in ([3, 4], [0, 1], [2, 3])),
    ),
    "nn.SparseToDense": lambda f: f.nn.SparseToDense()(f.coo()),
    "nn.SparseTensorDenseMatmul": lambda f: f.nn.SparseTensorDenseMatmul(adjoint_st=True)(
        f.t([[0, 1], [1, 2]], "int32"), f.t([1, 2]), (2, 3), f.t([[1, 2], [3, 4]])
    ),
    # ---- gradients
    "gradient_of_to_dense": lambda f: _gradient(
        f, lambda v, d: (f.m.COOTensor(f.t([[0, 1], [2, 0], [0, 1]], "int32"), v, (3, 4)).to_dense() * d).sum(),
        f.t([1, 2, 3]), f.t(DENSE),
    ),
    "gradient_of_product": lambda f: _gradient(
        f, lambda v, d: (f.m.COOTensor(f.t([[0, 1], [2, 0], [0, 1]], "int32"), v, (3, 4)) * d).values.sum(),
        f.t([1, 2, 3]), f.t(DENSE),
    ),
    "gradient_of_matmul": lambda f: _gradient(
        f, lambda v, d: (f.p.SparseTensorDenseMatmul()(f.t([[0, 1], [1, 2]], "int32"), v, (2, 3), d) ** 2).sum(),
        f.t([1, 2]), f.t(DENSE[:3]),
    ),
    "gradient_of_csr_to_dense": lambda f: _gradient(
        f, lambda v, d: (f.m.CSRTensor(f.t([0, 2, 2, 3], "int32"), f.t([0, 3, 1], "int32"), v, (3, 4)).to_dense() * d).sum(),
        f.t([1, 2, 3]), f.t(DENSE),
    ),
    **{f"csr_{n}": lambda f, n=n: getattr(f.o, f"csr_{n}")(f.csr((0.5, 0.25, 1))) for n in ELEMENTWISE},
    **{f"coo_{n}": lambda f, n=n: getattr(f.o, f"coo_{n}")(f.coo((0.5, -0.25, 2), index="int32")) for n in ELEMENTWISE},
}  # fmt: skip


def measured(f: Framework, name: str) -> list[tuple[str, Any]]:
    """The results of a case in either framework: the class of each, and its parts as arrays."""
    made = CASES[name](f)
    return [
        (type(x).__name__, [part.asnumpy() for part in (x.to_tuple()[:-1] if hasattr(x, "to_tuple") else (x,))])
        for x in (made if isinstance(made, (tuple, list)) else (made,))
    ]


def main() -> None:
    """Record all cases."""
    import mindspore as ms
    from mindspore.ops import operations

    ms.set_context(mode=ms.PYNATIVE_MODE)
    f, made = Framework(ms, operations, ms.nn), {}
    for name in CASES:
        try:
            made[name] = [
                [kind, [[list(a.shape), str(a.dtype), [float(f"{v:.7g}") for v in a.ravel().tolist()]] for a in parts]]
                for kind, parts in measured(f, name)
            ]
        except Exception as error:
            print(name, type(error).__name__, str(error)[:200])
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(made, file)
        file.write("\n")


if __name__ == "__main__":
    main()
