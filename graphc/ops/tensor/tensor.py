"""A Tensor holds a NumPy array, or stands for a value while a Cell is traced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from graphc import dispatch
from graphc.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    TraceTypeError,
    user_loc,
)
from graphc.errors.suggestions import as_operand, no_attribute
from graphc.errors.unsupported import instead
from graphc.ir.types import TensorType, contiguous_strides, numpy_dtype
from graphc.ops.tensor.arrays import (
    is_masked,
    keep_complex,
    narrowed,
    native,
    note_write,
    plain_text,
    require_dtype,
    value_text,
    writes_to,
)
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.dtype import BY_NAME, DType, to_name
from graphc.ops.tensor.number_tensors import (
    divided,
    divided_by,
    inverted,
    left_shift,
    left_shift_by,
    right_shift,
    right_shift_by,
    rounded,
)
from graphc.ops.tensor.operators import Operators, functions
from graphc.ops.tensor.traced_queries import no_value, outlived, say_type, undecided, unknown
from graphc.tracebacks import clean
from graphc.validation.unused_arguments import only

if TYPE_CHECKING:
    from graphc.ops.functional.methods import Methods
else:
    Methods = object  # Its members are installed when that module is imported.

Array = np.ndarray[Any, np.dtype[Any]]


def to_array(data: Any, dtype: Any = None, *, copy: bool = True) -> Array:
    """Anything array-like as an array of a dtype the IR knows: by default Python floats become float32, ints int64.

    Without `copy` it may be the memory of what is given; else only of an array, if no dtype is asked for.
    """
    if isinstance(data, Tensor):
        array = data.asnumpy() if copy else data._value("asnumpy()")
    elif isinstance(data, (np.ndarray, np.generic)):
        array = np.asarray(native(data) if isinstance(data, np.ndarray) else data)
    else:
        for x in data if isinstance(data, (list, tuple)) else ():
            if is_masked(x):
                native(x)
        try:
            array = np.asarray(data)
        except ValueError as error:
            raise ArgumentValueError(f"these data are no tensor: {error}", loc=user_loc()) from None
        except TraceTypeError:
            raise TraceTypeError(
                f"a Tensor is made of a {type(data).__name__} that holds a traced tensor",
                code="GC131",
                loc=user_loc(),
                help="use ops.stack, which has a gradient",
            ) from None
        if array.dtype == np.float64 and dtype is None:
            array = narrowed(array, np.float32, copy=True)
    if dtype is not None:
        wanted = numpy_dtype(to_name(dtype))
        keep_complex(array.dtype, wanted, "data")
        array = narrowed(array, wanted, copy)
    else:
        require_dtype(array.dtype)
    return array


class Tensor(Operators, Methods):
    """An n-dimensional array with MindSpore's methods.

    input_data: array, number, nested list or Tensor. Python floats become float32 and ints int64; NumPy arrays keep their
    dtype. Instead of data, shape and init: an initializer that is called with the array to fill. const_arg has no meaning
    here, device can only be "CPU". Neither data nor init, but a shape and a dtype: zeros; with None in the shape a description
    for `Cell.set_inputs`, which holds nothing. While a Cell is traced, a Tensor of one of its values is that value, of the
    dtype asked for, with its gradient.
    Raises ArgumentTypeError or DTypeError where no supported dtype holds the data, ArgumentValueError for another device.
    """

    __array_priority__ = 1000

    #: Whether it stands for a Python number: weak in promotion, and a Python number again where a step returns it.
    is_number = False
    #: In PYNATIVE_MODE inside a Cell: the tensor whose memory it has (`graphc.trace.eager_views`).
    view_of: Tensor | None = None
    #: Outside of compiled Cells: of what it was taken by an index (`set_item`); in one: the Parameter whose `data` it is.
    taken_of: tuple[Tensor, Any] | None = None
    #: Whether it is a RowTensor.
    is_rows = False
    #: How often it was given other memory.
    moves = 0
    #: Whether it is a Parameter.
    is_parameter = False
    #: Of a description for `Cell.set_inputs`: its shape, with None where sizes vary, and its dtype's name.
    open_shape: tuple[int | None, ...] | None = None
    open_dtype = ""

    def __init__(
        self,
        input_data: Any = None,
        dtype: Any = None,
        shape: Any = None,
        init: Any = None,
        const_arg: bool = False,
        device: str | None = None,
    ) -> None:
        if device is not None:
            only("Tensor", "device", device, "CPU")
        if isinstance(input_data, Deferred):
            input_data = input_data.tensor()
        if input_data is None and init is not None and shape is not None:
            array = np.zeros(shape, np.float32)
            init(array)
            input_data = array
        elif input_data is None and shape is not None and dtype is not None:
            sizes = (shape,) if isinstance(shape, int) else tuple(None if s == -1 else s for s in shape)
            if None in sizes:
                self._hold(None)
                self.open_shape, self.open_dtype = sizes, to_name(dtype)
                return
            input_data = np.zeros(sizes, np.float32)
        elif isinstance(input_data, Tensor) and type(self) is Tensor and input_data._is_traced():
            value = (input_data.value() if dtype is None else input_data.value().astype(dtype)).twin()
            self.__class__ = TracedTensor
            self.__dict__.update(vars(value), is_number=False)
            return
        elif input_data is None:
            raise ArgumentTypeError("Tensor: input_data must be given, or shape and init", loc=user_loc())
        try:
            array = to_array(input_data, dtype, copy=False)
        except BaseException as error:
            if dispatch.recorder.get() is None:
                clean(error)
            raise
        self._hold(np.ascontiguousarray(array).reshape(array.shape).copy())

    def _hold(self, array: Array | None) -> None:
        self._array = array

    @classmethod
    def wrap(cls, array: Array) -> Tensor:
        """A Tensor around an array, without a copy."""
        self = Tensor.__new__(Tensor)
        self._array = np.asarray(array)
        return self

    if TYPE_CHECKING:
        # Most methods are written beside the functions that they are, which install them: `graphc.ops.tensor.methods`.
        def __getattr__(self, name: str) -> Callable[..., Any]: ...
    else:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            kind = "Parameter" if self.is_parameter else "Tensor"
            try:
                no_attribute(kind, name, dir(type(self)), "x.", instead("Tensor", name))
            except AttributeError as error:
                clean(error)
                raise

    # ---- what it is

    @property
    def writes(self) -> Any:
        """Another one when its elements were written in place, through this tensor or one that shares its memory: it may be a
        constant of compiled steps.
        """
        return self.moves, 0 if self._array is None else writes_to(self._array)

    def _shared(self) -> Array:
        """Its memory, for whoever may write there, too."""
        array: Array = require_array(self)
        note_write(array, by_others=True)
        dispatch.touch()
        return array

    @property
    def array(self) -> Array | None:
        """The contents without a copy; None for a traced tensor."""
        return self._array

    @property
    def tensor_type(self) -> TensorType:
        if self.open_shape is not None:
            return TensorType(self.open_dtype, tuple(-1 if s is None else s for s in self.open_shape))
        assert self._array is not None
        return TensorType.of(self._array)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor_type.shape

    @property
    def dtype(self) -> DType:
        return BY_NAME[self.tensor_type.dtype]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return 0 if self.open_shape is not None else self.tensor_type.size

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentTypeError("a tensor without axes has no length, and is one value", loc=user_loc())
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, item: Any) -> bool:
        """Whether an element equals a number, or one of a tensor's that is broadcast; nothing else is in a tensor."""
        return isinstance(item, _COMPARED) and bool(functions["equal"](self, item).any())

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; of a traced tensor what stands for them, as `item` gives it."""
        return functions["list_of"](self)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.tensor_type.numpy.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, per axis."""
        return tuple(s * self.itemsize for s in contiguous_strides(self.shape))

    @property
    def has_init(self) -> bool:
        """Whether the values are still to be made by an initializer: never."""
        return False

    def is_contiguous(self) -> bool:
        """Whether the elements lie in order: in a compiled Cell always."""
        return self._array is None or self._array.flags.c_contiguous

    # ---- its value

    def asnumpy(self) -> Array:
        """A copy of the contents."""
        return self._value("asnumpy()").copy()

    def init_data(self, slice_index: Any = None, shape: Any = None, opt_shard_group: Any = None) -> Tensor:
        """The tensor itself: its data are made at once (MindSpore: Tensor.init_data). There are no parts of it to make."""
        for name, value in (("slice_index", slice_index), ("shape", shape), ("opt_shard_group", opt_shard_group)):
            only("init_data", name, value, None)
        return self

    def value(self) -> Tensor:
        """The tensor itself; of a Parameter what it holds now."""
        return self

    def twin(self) -> Tensor:
        """A tensor of its own with the contents that this one has now."""
        return Tensor.wrap(require_array(self).copy())

    def __copy__(self) -> Tensor:
        return self.twin()

    def __deepcopy__(self, memodict: dict[int, Any] | None = None) -> Tensor:
        return self.twin()

    def item(self) -> Any:
        """The single element as a Python number; ArgumentValueError if there are more. Of a traced tensor what stands for that
        number, as int(x) and float(x) are in a compiled Cell.
        """
        if self.size != 1:
            raise ArgumentValueError(f"item() needs one element, the tensor is {self.tensor_type}", loc=user_loc())
        unknown = self._array is None or self._is_state()
        if unknown and dispatch.recorder.get() is not None and not self.tensor_type.is_complex:
            return functions["item_of"](self)
        return self._value("item()").item()

    def _value(self, asked: str) -> Array:
        if self._array is None and dispatch.recorder.get() is None:
            require_array(self)
        array: Array | None = dispatch.known_array(self)
        if array is None:
            raise unknown(asked, self.tensor_type)
        return array

    def _is_state(self) -> bool:
        """Whether this is a Parameter that a step reads and writes which is being traced."""
        return False

    def _is_traced(self) -> bool:
        """Whether it stands for a value of what is being traced, for a step or for a gradient."""
        return isinstance(self, TracedTensor)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if self._array is None or self._is_state():
            raise TraceTypeError(
                "a NumPy function was applied to a traced tensor",
                code="GC131",
                loc=user_loc(),
                help="use the function of the same name in graphc.ops",
            )
        if dtype is not None:
            keep_complex(self._array.dtype, np.dtype(dtype), str(self.tensor_type))
        if copy is False:
            return np.asarray(self._shared(), dtype=dtype)
        return np.array(self._array, dtype=dtype)

    def __array_function__(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """NumPy's functions work on the contents; on a traced tensor, which has none, they are refused (GC131)."""
        return func(*map(_contents, args), **{k: _contents(v) for k, v in kwargs.items()})

    def __float__(self) -> float:
        return float(self._real("float()"))

    def __int__(self) -> int:
        return int(self._real("int()"))

    def __complex__(self) -> complex:
        return complex(self._value("complex()").item())

    def _real(self, asked: str) -> Any:
        """The single element; ArgumentTypeError for a complex one."""
        array = self._value(asked)
        if array.dtype.kind == "c":
            raise ArgumentTypeError(
                f"{asked} of {self.tensor_type}, which is complex",
                loc=user_loc(),
                help="take a part of it: ops.real(x)",
            )
        if array.size != 1:
            raise ArgumentValueError(f"{asked} of {self.tensor_type}, which has {array.size} elements", loc=user_loc())
        return array.item()

    def __index__(self) -> int:
        array = self._value("an index")
        if array.dtype.kind not in "iub":
            raise ArgumentTypeError(
                f"only an integer tensor can be an index, this one is {self.tensor_type}", loc=user_loc()
            )
        if array.size != 1:
            raise ArgumentValueError(f"an index is one number, this tensor is {self.tensor_type}", loc=user_loc())
        return int(array.item())

    def __bool__(self) -> bool:
        array: Array | None = dispatch.known_array(self)
        if array is None:
            raise undecided(self.tensor_type) if self.open_shape is None else no_value(self.open_shape)
        if array.size != 1:
            raise ArgumentValueError(
                f"the truth value of {array.size} elements is ambiguous",
                loc=user_loc(),
                help="(...).any() or (...).all() makes one of them; `x is None` asks whether there is a tensor",
            )
        return bool(array.item())

    def __repr__(self) -> str:
        if self.open_shape is not None:
            sizes = [-1 if size is None else size for size in self.open_shape]
            return f"Tensor(shape={sizes}, dtype={BY_NAME[self.open_dtype]}, value= )"
        if self._array is None:
            return f"<traced {self.tensor_type}>"
        return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, value={value_text(self._array)})"

    def __str__(self) -> str:
        if self.open_shape is not None:
            return repr(self)
        if self._array is None or self._is_state():
            say_type()
        return repr(self) if self._array is None else plain_text(self._array)

    def __format__(self, spec: str) -> str:
        if self._array is None or self._is_state():
            return str(self)
        return format(self._array.item() if spec and self._array.size == 1 else str(self), spec)

    def __hash__(self) -> int:
        return id(self)


#: What can be an element of a tensor.
_COMPARED = (Tensor, bool, int, float, complex, np.number)


def _contents(x: Any) -> Any:
    """Tensors, in tuples and lists too, as arrays."""
    if isinstance(x, (tuple, list)):
        return type(x)(map(_contents, x))
    return np.asarray(x) if isinstance(x, Tensor) else x


class TracedTensor(Tensor):
    """Stands for a value while a Cell is traced. `handle` is the recorder's own record of it."""

    __lshift__, __rlshift__, __rshift__, __rrshift__ = left_shift, left_shift_by, right_shift, right_shift_by
    __divmod__, __rdivmod__, __invert__, __round__ = divided, divided_by, inverted, rounded

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__name__ = "Tensor"

    def __init__(self, type: TensorType, handle: Any) -> None:
        self._array = None
        self._type = type
        self.handle = handle

    @property
    def tensor_type(self) -> TensorType:
        return self._type

    def value(self) -> Tensor:
        """In PYNATIVE_MODE the tensor itself; in a compiled Cell one of its own, so that a write to one leaves the other."""
        active: Any = dispatch.recorder.get()
        return self if active is None or active.immediate else self.twin()

    def twin(self) -> Tensor:
        made = TracedTensor.__new__(type(self))
        made.__dict__.update(vars(self), taken_of=None)
        return made

    def __iter__(self) -> Iterator[Tensor]:
        active = dispatch.recorder.get()
        if active is not None and self.shape and isinstance(active.shape_of(self)[0], Deferred):
            raise TraceTypeError(
                "how many rows there are is not known while the Cell is compiled",
                code="GC120",
                loc=user_loc(),
                help="write a `for` statement, or a comprehension with one `for`; ops.stack([...]) of it is a tensor",
            )
        return super().__iter__()

    def __hash__(self) -> int:
        if self.is_number and self._array is None:
            # Other keys of a dict would be compared with the number that it stands for.
            raise TraceTypeError(
                "a number that a tensor decides is a key of a dict or set: its value is not known while the Cell is compiled",
                loc=user_loc(),
                details=[f"the number is {self.tensor_type}"],
                help="choose with `if k == 1: ... elif k == 2: ...`, or read a row of a tensor: table[k]",
            )
        return id(self)


#: Users know it as a Tensor, in errors too.
TracedTensor.__name__ = "Tensor"


def tensor(
    input_data: Any = None,
    dtype: Any = None,
    shape: Any = None,
    init: Any = None,
    const_arg: bool = False,
    device: str | None = None,
) -> Tensor:
    """A Tensor: the arguments are those of the class."""
    return Tensor(input_data, dtype, shape, init, const_arg, device)


def require_array(x: Tensor) -> Any:
    """The contents of a tensor; TraceError if it is a traced one that outlived its trace."""
    array = x.array
    if array is None:
        raise outlived() if x.open_shape is None else no_value(x.open_shape)
    return array


def as_tensor(x: Any, what: str = "operand") -> Tensor:
    """A Tensor from a Tensor, array or number; ArgumentTypeError for anything else."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, Deferred):
        return x.tensor()
    if isinstance(x, (bool, int, float)):
        made = Tensor.wrap(to_array(x))
        made.is_number = True
        return made
    if isinstance(x, (np.ndarray, np.generic)):
        return Tensor.wrap(to_array(x))
    raise ArgumentTypeError(
        f"{what} must be a Tensor or a number, got {type(x).__name__}",
        loc=user_loc(),
        help=as_operand(x),
    )


__all__ = ["Array", "Tensor", "TracedTensor", "as_tensor", "to_array"]
