"""Primitives of functions of one's own: Python functions of arrays, and functions of C libraries."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ir import TensorType
from graphc.ops.declared.python_call import PLACE, PythonFunction
from graphc.ops.functional.core import call
from graphc.ops.functional.printing import in_order
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.primitive import Primitive
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only

Array = np.ndarray[Any, np.dtype[Any]]


def _types(owner: str, shape: Any, dtype: Any) -> list[TensorType]:
    """Types of the results: of one shape and dtype, or of as many shapes as dtypes."""
    dtypes, shapes = (dtype, shape) if isinstance(dtype, (tuple, list)) else ((dtype,), (shape,))
    fits = isinstance(shapes, (tuple, list)) and len(shapes) == len(dtypes)
    if not fits or not all(isinstance(s, (tuple, list)) and all(type(d) is int and d >= 0 for d in s) for s in shapes):
        raise ArgumentTypeError(
            f"{owner}: out_shape is {shape!r} for the dtypes {dtype!r}, expected a tuple of sizes for each",
            loc=user_loc(),
        )
    return [TensorType(to_name(d), tuple(s)) for d, s in zip(dtypes, shapes, strict=True)]


def _called(
    owner: str, function: Callable[..., Any], types: Sequence[TensorType], args: Sequence[Any], stateful: bool = False
) -> tuple[Any, ...]:
    """The results of a Python function of the arguments, tensors as arrays. stateful: calls are made in order, all of them."""
    name = f"{owner}({getattr(function, '__name__', type(function).__name__)})"
    tensors = [a for a in args if isinstance(a, Tensor)]
    arguments = [PLACE if isinstance(a, Tensor) else a for a in args]
    held = PythonFunction(name, function, arguments, [t.tensor_type.dtype for t in tensors], types)
    made = (
        in_order("PythonEffect", *tensors, function=held) if stateful else call("PythonCall", *tensors, function=held)
    )
    return made if isinstance(made, tuple) else (made,)


class Custom(Primitive):
    """A function of one's own as an op (MindSpore: ops.Custom), called with tensors, and numbers among them if it takes some.

    func: with func_type "pyfunc" a function of NumPy arrays, which are its own, that gives arrays, or a tuple of them. With "aot"
    "PATH.so:NAME", a C function `int (int count, void **arrays, int *ranks, int64_t **shapes, const char **dtypes, void *stream,
    void *extra)` of operands, then results, which gives 0 if all is well. out_shape, out_dtype: those of the result, tuples of
    several, or functions of the shapes or dtypes of the arguments. The result of an out_shape () is [1], as in MindSpore. bprop:
    (*arguments, result, its gradient) -> the gradients, by functions of graphc.ops; without it there is none.
    A compiled step calls the function back: it runs when the step does, once for equal arguments, not at all if nothing needs it.
    reg_info and other kinds of func_type are refused. Raises ArgumentTypeError, ArgumentValueError.
    """

    #: What a function does that is given to it, it does whenever a step runs.
    calls_back = True

    def __init__(
        self,
        func: Any,
        out_shape: Any = None,
        out_dtype: Any = None,
        func_type: str = "pyfunc",
        bprop: Callable[..., Any] | None = None,
        reg_info: Any = None,
    ) -> None:
        super().__init__("Custom")
        if func_type not in ("pyfunc", "aot"):
            raise ArgumentValueError(
                f"Custom: func_type must be 'pyfunc' or 'aot', got {func_type!r}",
                loc=user_loc(),
                help="ops.custom takes a kernel that Numba compiles",
            )
        only("Custom", "reg_info", reg_info, None)
        if not callable(func) if func_type == "pyfunc" else not isinstance(func, str):
            wanted = "a function" if func_type == "pyfunc" else "'PATH.so:NAME'"
            raise ArgumentTypeError(f"Custom: func must be {wanted}, got {func!r}", loc=user_loc())
        if out_shape is None or out_dtype is None:
            raise ArgumentTypeError("Custom: out_shape and out_dtype must be given", loc=user_loc())
        self.func, self.out_shape, self.out_dtype = func, out_shape, out_dtype
        self.func_type, self.bprop = func_type, bprop

    def __call__(self, *inputs: Any) -> Any:
        made = self._made(inputs)
        result = made if isinstance(self._asked(self.out_dtype, "dtype", inputs), (tuple, list)) else made[0]
        active: Any = dispatch.recorder.get()
        if self.bprop is None or active is None:
            return result
        return active.custom_gradient("Custom", inputs, result, self.bprop)

    def _made(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        shape, dtype = self._asked(self.out_shape, "shape", inputs), self._asked(self.out_dtype, "dtype", inputs)
        several = isinstance(dtype, (tuple, list))
        types = _types(
            "Custom", (1,) if not several and isinstance(shape, (tuple, list)) and not shape else shape, dtype
        )
        if self.func_type == "pyfunc":
            return _called("Custom", self.func, types, inputs)
        if not all(isinstance(x, Tensor) for x in inputs):
            raise ArgumentTypeError("Custom: a function of a C library takes tensors alone", loc=user_loc())
        return _called("Custom", _library_function(self.func, tuple(types)), types, inputs)

    def _asked(self, rule: Any, part: str, inputs: tuple[Any, ...]) -> Any:
        """A shape or dtype, or what a function makes of those of the arguments; numbers have the shape () and their class."""
        if not callable(rule):
            return rule
        return rule(
            *(getattr(x, part) if isinstance(x, Tensor) else () if part == "shape" else type(x) for x in inputs)
        )


class PyFunc(Primitive):
    """A Python function of arrays as an op (MindSpore: ops.PyFunc), called with tensors, or a tuple of them; gives a tuple.

    in_types, in_shapes: those of its operands, which are compared; out_types, out_shapes: of its results, () for a number.
    A compiled step calls it back, as with `Custom`; if it is `stateful` each time it is asked for, in order, whether the results
    are used or not. There is no gradient. Raises ArgumentTypeError.
    """

    #: As of `Custom`.
    calls_back = True

    def __init__(
        self,
        fn: Callable[..., Any],
        in_types: Sequence[Any],
        in_shapes: Sequence[Any],
        out_types: Sequence[Any],
        out_shapes: Sequence[Any],
        stateful: bool = True,
    ) -> None:
        super().__init__("PyFunc")
        if not callable(fn):
            raise ArgumentTypeError(f"PyFunc: fn must be a function, got {fn!r}", loc=user_loc())
        self.fn, self.stateful = fn, stateful
        self.given = _types("PyFunc", list(in_shapes), list(in_types))
        self.made = _types("PyFunc", list(out_shapes), list(out_types))

    def __call__(self, *input_x: Any) -> tuple[Any, ...]:
        one = len(input_x) == 1 and isinstance(input_x[0], (tuple, list))
        inputs = tuple(input_x[0]) if one else input_x
        types = [x.tensor_type if isinstance(x, Tensor) else type(x).__name__ for x in inputs]
        if types != self.given:
            wanted, got = (", ".join(map(str, x)) for x in (self.given, types))
            raise ArgumentTypeError(f"PyFunc: the operands are ({got}), declared are ({wanted})", loc=user_loc())
        return _called("PyFunc", self.fn, self.made, inputs, self.stateful)


# ---- functions of C libraries


class _LibraryFunction:
    """A C function that takes the addresses of operands and results. Two of one name and library are equal."""

    def __init__(self, path: str, name: str, types: tuple[TensorType, ...]) -> None:
        try:
            library = ctypes.CDLL(path)
            self.entry = library[name]
        except (OSError, AttributeError) as error:
            raise ArgumentValueError(f"Custom: {path}:{name} cannot be loaded: {error}", loc=user_loc()) from None
        if hasattr(library, f"{name}Init"):
            raise ArgumentValueError(
                f"Custom: {name}Init of {path} is not called: attributes and workspaces are not implemented",
                loc=user_loc(),
            )
        self.path, self.types, self.__name__ = path, types, name
        self.entry.restype = ctypes.c_int

    def __call__(self, *arrays: Array) -> tuple[Array, ...]:
        results = tuple(np.zeros(t.shape, t.numpy) for t in self.types)
        every = [*arrays, *results]
        count = len(every)
        shapes = [(ctypes.c_int64 * max(a.ndim, 1))(*a.shape) for a in every]
        status = self.entry(
            count,
            (ctypes.c_void_p * count)(*(a.ctypes.data for a in every)),
            (ctypes.c_int * count)(*(a.ndim for a in every)),
            (ctypes.POINTER(ctypes.c_int64) * count)(*(ctypes.cast(s, ctypes.POINTER(ctypes.c_int64)) for s in shapes)),
            (ctypes.c_char_p * count)(*(a.dtype.name.encode() for a in every)),
            None,
            None,
        )
        if status:
            raise RuntimeError(f"it gives {status}")
        return results

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _LibraryFunction) and (self.path, self.__name__) == (other.path, other.__name__)

    def __hash__(self) -> int:
        return hash((self.path, self.__name__))


def _library_function(text: str, types: tuple[TensorType, ...]) -> _LibraryFunction:
    """The function of "PATH.so:NAME". ArgumentValueError for anything else, and for what cannot be loaded."""
    path, _, name = text.rpartition(":")
    if not name or Path(path).suffix != ".so":
        raise ArgumentValueError(
            f"Custom: func must be 'PATH.so:NAME', got {text!r}",
            loc=user_loc(),
            help="g++ --shared -fPIC -o add.so add.cc compiles a library",
        )
    return _LibraryFunction(str(Path(path).resolve()), name, types)
