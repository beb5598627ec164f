"""Methods of Tensor that say what a tensor is and where it lies, hand it to others, or scatter into a copy of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ShapeError, TraceTypeError, user_loc
from graphc.ir.types import contiguous_strides
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import Extents, Operand, cast
from graphc.ops.functional.create import zeros
from graphc.ops.functional.decompositions import adjoint
from graphc.ops.functional.element_updates import scatter_reduced
from graphc.ops.functional.index import Indices
from graphc.ops.functional.logic import isclose
from graphc.ops.functional.reduce import reduce_all
from graphc.ops.functional.scattering import inplace_update, tensor_scatter
from graphc.ops.functional.shapes import as_shape
from graphc.ops.functional.sorting import searchsorted
from graphc.ops.functional.state import stop_gradient
from graphc.ops.tensor.arrays import elements_before, elements_between
from graphc.ops.tensor.dtype import BY_NAME, DType, to_name
from graphc.ops.tensor.methods import install, method
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, require_array, to_array
from graphc.validation.unused_arguments import only


@method()
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether all elements are close, |input - other| <= atol + rtol |other| (MindSpore: Tensor.allclose): a bool, in a compiled
    Cell a tensor of one.
    """
    made = reduce_all(isclose(input, other, rtol, atol, equal_nan))
    return made if made.array is None else made.item()


def from_numpy(array: Any) -> Tensor:
    """A Tensor with the contents of an array, copied; ArgumentTypeError for anything else."""
    if not isinstance(array, np.ndarray):
        raise ArgumentTypeError(f"from_numpy: expected an array, got {type(array).__name__}", loc=user_loc())
    return Tensor(array)


class _Capsule:
    """What a DLPack capsule was taken from, as NumPy asks for it: memory of a CPU."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        only("from_dlpack", "stream", options.get("stream"), None)
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def from_dlpack(dlpack: Any) -> Tensor:
    """A Tensor with a copy of what a DLPack capsule, or an object with `__dlpack__`, holds. ArgumentTypeError for anything
    else.
    """
    source = dlpack if hasattr(dlpack, "__dlpack__") else _Capsule(dlpack)
    if isinstance(source, _Capsule) and type(dlpack).__name__ != "PyCapsule":
        raise ArgumentTypeError(f"from_dlpack: expected a capsule, got {type(dlpack).__name__}", loc=user_loc())
    return Tensor(np.from_dlpack(source))


class Attributes:
    """Given to Tensor, member by member."""

    @property
    def init(self: Any) -> None:
        """The initializer that is still to fill the tensor: none, its elements are made at once."""

    def is_init(self: Any) -> bool:
        """MindSpore's mark of tensors that wait for a device: False."""
        return False

    def get_bytes(self: Any) -> bytes:
        """The elements as bytes, in row-major order."""
        return bytes(self.asnumpy().tobytes())

    def set_dtype(self: Any, dtype: Any) -> DType:
        """Convert the elements, so that the tensor itself is of another dtype from now on; returns the dtype.

        TraceTypeError in construct, where a tensor keeps its dtype.
        """
        name = to_name(dtype)
        if self._is_traced():
            raise TraceTypeError(
                "set_dtype in construct, where a tensor keeps its dtype", loc=user_loc(), help=f"x = x.astype({name!r})"
            )
        array = to_array(self, name)
        if isinstance(self, Parameter):
            self.move(array)
        else:
            self._hold(array)
            self.moves += 1
            dispatch.touch()
        return BY_NAME[name]

    @property
    def H(self: Any) -> Tensor:
        """The transpose of a matrix, of a complex one the conjugate."""
        if self.ndim != 2:
            raise ShapeError(f"H: the tensor is {self.tensor_type}, expected a matrix", loc=user_loc())
        return adjoint(self)

    @property
    def mH(self: Any) -> Tensor:
        """The last two axes swapped, of complex matrices the conjugate."""
        if self.ndim < 2:
            raise ShapeError(f"mH: the tensor is {self.tensor_type}, expected matrices", loc=user_loc())
        return adjoint(self)

    @property
    def data(self: Any) -> Tensor:
        """The same memory as a constant of differentiation."""
        return stop_gradient(self) if self._is_traced() else Tensor.wrap(require_array(self))

    @property
    def device(self: Any) -> str:
        """Where it lies: "CPU"."""
        return "CPU"

    @property
    def is_meta(self: Any) -> bool:
        """Whether it has no memory: never."""
        return False

    @property
    def const_arg(self: Any) -> bool:
        """Whether a compiled step takes its value as a constant: never."""
        return False

    def set_const_arg(self: Any, const_arg: bool = True) -> Any:
        """This tensor. ArgumentValueError GC112 for True: tensors that a Cell is called with vary, those that it holds are
        constants.
        """
        only("set_const_arg", "const_arg", const_arg, False)
        return self

    def is_pinned(self: Any) -> bool:
        """Whether it lies in pinned memory: never."""
        return False

    def is_shared(self: Any) -> bool:
        """Whether other processes share its memory: never."""
        return False

    def data_ptr(self: Any) -> int:
        """The address of its first byte. Of a Parameter it stays; the memory of other tensors lives as long as they do."""
        return int(require_array(self).ctypes.data)

    def stride(self: Any, dim: int | None = None) -> Any:
        """Elements from one to the next: of an axis, or a list of them for all; in a compiled Cell in row-major order."""
        steps = list(elements_between(self.array) if self.array is not None else contiguous_strides(self.shape))
        return steps if dim is None else steps[check_axis("stride", dim, self.ndim)]

    def storage_offset(self: Any) -> int:
        """How many elements of the tensor whose memory it has stand before its first; none in a compiled Cell."""
        return 0 if self.array is None else elements_before(self.array)

    def numpy(self: Any) -> Any:
        """A copy of the contents, as `asnumpy`."""
        return self.asnumpy()

    def hooks(self: Any) -> list[Any]:
        """The functions given to `register_hook`."""
        return list(self.__dict__.get("grad_hooks", ()))

    def requires_grad_(self: Any, requires_grad: bool = True) -> Any:
        """This Parameter, which `trainable_params` includes or not. ArgumentTypeError for other tensors, which have no such
        flag.
        """
        if not isinstance(self, Parameter):
            raise ArgumentTypeError("requires_grad_: only a Parameter says whether it is trained", loc=user_loc())
        self.requires_grad = requires_grad
        return self

    def move_to(self: Any, to: str, blocking: bool = True) -> Any:
        """This tensor. ArgumentValueError GC112 for another device than "CPU"; `blocking` says how, not what."""
        only("move_to", "to", to, "CPU")
        only("move_to", "blocking", blocking, True, False)
        return self

    def to_(self: Any, device: str | None = None, non_blocking: bool = False) -> Any:
        """This tensor. ArgumentValueError GC112 for another device than "CPU"; `non_blocking` says how, not what."""
        only("to_", "device", device, None, "CPU")
        only("to_", "non_blocking", non_blocking, False, True)
        return self

    def to_dlpack(self: Any) -> Any:
        """A DLPack capsule of its memory, which the taker shares."""
        return self._shared().__dlpack__()

    def byte(self: Any) -> Tensor:
        """This tensor in uint8."""
        return cast(self, "uint8")

    def short(self: Any) -> Tensor:
        """This tensor in int16."""
        return cast(self, "int16")

    def new_empty(self: Any, *sizes: Any, size: Extents = None, dtype: Any = None, device: Any = None) -> Tensor:
        """A tensor of this dtype whose elements are anyone's choice: zeros."""
        only("new_empty", "device", device, None, "CPU")
        return zeros(as_shape(sizes if size is None else (size,)), self.dtype if dtype is None else dtype)

    def searchsorted(self: Any, v: Operand, side: str = "left", sorter: Tensor | None = None) -> Tensor:
        """int32: how many elements of this sorted tensor are less than each of v; side "right": not greater."""
        only("searchsorted", "side", side, "left", "right")
        values = v if isinstance(v, Tensor) else Tensor(v, self.dtype)
        return searchsorted(self, values, out_int32=True, right=side == "right", sorter=sorter)

    def inplace_update(self: Any, v: Tensor, indices: Any) -> Tensor:
        """A copy with rows of v at the indices."""
        return inplace_update(self, v, indices)

    def scatter_add(self: Any, *args: Any, **kwargs: Any) -> Tensor:
        """scatter_add(dim, index, src): a copy with src added to the elements at places along an axis;
        scatter_add(indices, updates): with `updates` added at coordinates.
        """
        if len(args) + len(kwargs) == 3:
            return _scatter_add_along(self, *args, **kwargs)
        made: Tensor = _at_coordinates("add")(self, *args, **kwargs)
        return made


def _scatter_add_along(x: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    return scatter_reduced(x, dim, index, src, "add", name="scatter_add")


def _at_coordinates(mode: str) -> Any:
    def scattered_copy(self: Tensor, indices: Indices, updates: Tensor) -> Tensor:
        return tensor_scatter(mode, self, indices, updates)

    scattered_copy.__name__ = scattered_copy.__qualname__ = f"scatter_{mode}"
    scattered_copy.__doc__ = f"A copy with `updates` at coordinates, as ops.tensor_scatter_{mode}."
    return scattered_copy


for _name, _member in vars(Attributes).items():
    if not _name.startswith("_"):
        install(_name, _member)
for _mode in ("sub", "mul", "div", "max", "min"):
    install(f"scatter_{_mode}", _at_coordinates(_mode))
for _maker in (from_numpy, from_dlpack):
    install(_maker.__name__, staticmethod(_maker))

__all__: list[str] = []
