"""What primitives are: ops as objects, with attributes fixed at construction."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, TraceError, user_loc
from graphc.internal_errors import door
from graphc.ops.tensor.autocast import marked
from graphc.validation.unused_arguments import refusal
from graphc.validation.wrong_arguments import refuse_call


class _Required:
    def __repr__(self) -> str:
        return "required"


#: Default of an attribute that must be given.
REQUIRED = _Required()


class Only(NamedTuple):
    """Default of an attribute that has no other meaning here: other values are refused by name."""

    value: Any


class Hint(NamedTuple):
    """Default of an attribute that says how to compute, not what: any value gives the same result."""

    value: Any


class Primitive:
    """Base: an op with its attributes fixed at construction (MindSpore: ops.Primitive).

    A subclass that defines `__call__` over functions of graphc.ops is an op. One that only names an op or gives type rules
    (`infer_shape`, `infer_dtype`, `__infer__`) has nothing that could run: calling it is TraceError GC110.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        call = cls.__dict__.get("__call__")
        if call is not None and cls.__module__.startswith("graphc."):
            cls.__call__ = marked(call, cls.__name__)  # type: ignore[method-assign]

    def __init__(self, name: str | None = None) -> None:
        self._given_name = name

    @property
    def name(self) -> str:
        """Its name: the one given, else that of the class."""
        return getattr(self, "_given_name", None) or type(self).__name__

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes."""
        return {k: v for k, v in vars(self).items() if not k.startswith("_")}

    def add_prim_attr(self, name: str, value: Any) -> Primitive:
        """Set an attribute; it has no meaning to graphc unless `__call__` reads it. Returns self."""
        setattr(self, name, value)
        return self

    add_attr = add_prim_attr

    def del_prim_attr(self, name: str) -> Primitive:
        """Remove an attribute. Returns self."""
        vars(self).pop(name, None)
        return self

    def init_prim_io_names(self, inputs: Any, outputs: Any) -> None:
        """Name operands and results: `input_names` and `output_names`, which mean nothing here."""
        self._io_names = (inputs, outputs)

    @property
    def input_names(self) -> Any:
        """The names of operands that `init_prim_io_names` gave; an AttributeError without them."""
        return self._given("_io_names", "input_names")[0]

    @property
    def output_names(self) -> Any:
        """The names of results that `init_prim_io_names` gave; an AttributeError without them."""
        return self._given("_io_names", "output_names")[1]

    def set_prim_instance_name(self, name: str) -> Primitive:
        """Name this object: its `instance_name`; `name` stays that of the op. Returns self."""
        self._instance_name = name
        return self

    @property
    def instance_name(self) -> str:
        """The name that `set_prim_instance_name` gave; an AttributeError without one."""
        given: str = self._given("_instance_name", "instance_name")
        return given

    def _given(self, kept: str, name: str) -> Any:
        if kept not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return vars(self)[kept]

    # ---- where an op runs, which the compiler decides: attributes that are shown, and mean nothing

    def shard(self, in_strategy: Any = None, out_strategy: Any = None) -> Primitive:
        """Keep how operands and results would be cut, tuples, as `in_strategy` and `out_strategy`. Returns self."""
        for name, strategy in (("in_strategy", in_strategy), ("out_strategy", out_strategy)):
            if strategy is not None:
                if not isinstance(strategy, tuple):
                    raise ArgumentTypeError(
                        f"shard: {name} must be a tuple, got {type(strategy).__name__}", loc=user_loc()
                    )
                self.add_prim_attr(name, strategy)
        return self

    def set_device(self, device_target: str) -> Primitive:
        """Keep a device as `primitive_target`. Returns self."""
        return self.add_prim_attr("primitive_target", device_target)

    def set_stage(self, stage: int) -> Primitive:
        """Keep a stage of a pipeline as `stage`. Returns self."""
        return self.add_prim_attr("stage", stage)

    def recompute(self, mode: bool = True) -> Primitive:
        """Keep whether the op would be computed again, as attribute `recompute`. Returns self."""
        if not isinstance(mode, bool):
            raise ArgumentTypeError(f"recompute: mode must be a bool, got {type(mode).__name__}", loc=user_loc())
        return self.add_prim_attr("recompute", mode)

    def place(self, role: str, rank_id: int) -> None:
        """Keep a process as `ms_role` and `rank_id`; role: "MS_WORKER"."""
        if role != "MS_WORKER":
            raise ArgumentValueError(f"place: role must be 'MS_WORKER', got {role!r}", loc=user_loc())
        if not isinstance(rank_id, int):
            raise ArgumentTypeError(f"place: rank_id must be an int, got {type(rank_id).__name__}", loc=user_loc())
        self.add_prim_attr("ms_role", role)
        self.add_prim_attr("rank_id", rank_id)

    def __call__(self, *operands: Any) -> Any:
        raise TraceError(
            f"primitive {self.name!r} says what it is, not what it computes: graphc has no kernel of that name",
            code="GC101",
            loc=user_loc(),
            help="define __call__ in its class with functions of graphc.ops, or use a primitive of graphc.ops",
        )

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v}" for k, v in self.attrs.items())
        return f"Prim[{self.name}]<{inside}>" if inside else f"Prim[{self.name}]"


class PrimitiveWithInfer(Primitive):
    """As Primitive; users give `infer_shape` and `infer_dtype`, which graphc does not need."""


class PrimitiveWithCheck(Primitive):
    """As Primitive; users give `check_shape` and `check_dtype`, which graphc does not need."""


def prim_attr_register(fn: Callable[..., None]) -> Callable[..., None]:
    """A decorator for `__init__` of a Primitive: its arguments become attributes."""
    if not callable(fn):
        raise ArgumentTypeError(f"prim_attr_register: fn must be a function, got {type(fn).__name__}", loc=user_loc())
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def init(self: Primitive, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        Primitive.__init__(self)
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)
        fn(self, *args, **kwargs)

    return init


def _bound(name: str, attrs: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a new primitive, from what its constructor was given."""
    given = dict(zip(attrs, args, strict=False))
    unknown = [k for k in kwargs if k not in attrs or k in given]
    values = {**attrs, **given, **kwargs}
    missing = [k for k, v in values.items() if v is REQUIRED]
    if len(args) > len(attrs) or unknown or missing:
        known = ", ".join(k if v is REQUIRED else f"{k}={v!r}" for k, v in attrs.items())
        problem = (
            f"needs {', '.join(missing)}"
            if missing
            else f"got {', '.join(map(repr, unknown)) or f'{len(args)} arguments'}"
        )
        raise ArgumentTypeError(f"{name}: {problem}; its attributes are ({known})", loc=user_loc())
    return values


_INTS: tuple[type, ...] = (int, tuple, list, np.integer)

#: The types that MindSpore's primitives accept for an attribute, where their constructors check it.
_KINDS: dict[tuple[str, str], tuple[type, ...]] = {
    ("Softmax", "axis"): _INTS,
    ("Squeeze", "axis"): _INTS,
    ("Stack", "axis"): (int, np.integer),
    ("Unstack", "axis"): (int, np.integer),
    ("TopK", "sorted"): (bool,),
    ("Pad", "paddings"): (tuple, list),
    ("Conv2D", "out_channel"): (int, np.integer),
    **{(name, "kernel_size"): _INTS for name in ("Conv2D", "MaxPool", "AvgPool")},
    **{(name, "strides"): _INTS for name in ("MaxPool", "AvgPool")},
    **{(name, "pad_mode"): (str,) for name in ("Conv2D", "MaxPool", "AvgPool")},
}

_MODES = ("valid", "same", "pad")

#: By the class of an attribute's default: the classes that no value of it has, and what is said of them. As in MindSpore, an int
#: may stand for a float, None for a text, and several ints for one.
_UNLIKE: dict[type, tuple[tuple[type, ...], str]] = {
    bool: ((int, float, str, tuple, list, dict, type(None)), "a bool"),
    int: ((bool, float, str), "an int"),
    float: ((bool, str), "a float"),
    str: ((bool, int, float, tuple, list), "a text"),
}


def _check_kind(name: str, key: str, value: Any, default: Any) -> None:
    """ArgumentTypeError for a value that is of another kind than the default."""
    others, wanted = _UNLIKE.get(type(default), ((), ""))
    if isinstance(value, others) and type(value) is not type(default):
        raise ArgumentTypeError(f"{name}: {key} must be {wanted}, got {value!r}", loc=user_loc())


def _check(name: str, key: str, value: Any, declared: Any) -> None:
    """ArgumentTypeError or ArgumentValueError for an attribute of the wrong kind, or with a meaning that graphc has not."""
    if isinstance(declared, Only) and (np.shape(value) != np.shape(declared.value) or value != declared.value):
        raise refusal(name, key, value, declared.value)
    if not isinstance(declared, Only):
        _check_kind(name, key, value, declared.value if isinstance(declared, Hint) else declared)
    kinds = _KINDS.get((name, key))
    if kinds is None:
        return
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        wanted = " or ".join(k.__name__ for k in kinds if k.__module__ == "builtins")
        raise ArgumentTypeError(f"{name}: {key} must be {wanted}, got {type(value).__name__}", loc=user_loc())
    if key == "pad_mode" and str(value).lower() not in _MODES:
        raise ArgumentValueError(f"{name}: pad_mode must be one of {_MODES}, got {value!r}", loc=user_loc())


def declare(name: str, function: Callable[..., Any], doc: str | None = None, **attrs: Any) -> type[Any]:
    """A primitive class: its constructor takes `attrs` by position or name, a call gives them to `function` by name.

    A default may be REQUIRED, `Only(value)` or `Hint(value)`; the function gets neither of the latter two. A bool, int, float or
    text is a default of that kind: the constructor refuses others (ArgumentTypeError).
    """
    defaults = {k: v.value if isinstance(v, (Only, Hint)) else v for k, v in attrs.items()}
    given = [k for k, v in attrs.items() if not isinstance(v, (Only, Hint))]

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        Primitive.__init__(self)
        for key, value in _bound(name, defaults, args, kwargs).items():
            _check(name, key, value, attrs[key])
            setattr(self, key, value)

    def call(self: Any, *operands: Any, **kwargs: Any) -> Any:
        try:
            return function(*operands, **{k: getattr(self, k) for k in given}, **kwargs)
        except TypeError as error:
            refuse_call(call, error)
            raise

    init.__signature__ = _constructor(defaults)  # type: ignore[attr-defined]
    call.__name__ = name
    call.annotated = function  # type: ignore[attr-defined]  # Whose annotations the signature has.
    call.__signature__ = _of_call(function, given)  # type: ignore[attr-defined]
    members = {
        "__init__": init,
        "__call__": door(marked(call, name), __name__),
        "__doc__": doc or function.__doc__,
        "__module__": "graphc.ops.primitives",
        "attributes": attrs,
        "function": staticmethod(function),
    }
    made: type[Any] = type(name, (Primitive,), members)
    return made


_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _constructor(defaults: dict[str, Any]) -> inspect.Signature:
    """(self, required, ..., optional=default, ...) in the order of the attributes."""
    parameters, keyword_only = [_SELF], False
    for key, value in defaults.items():
        default = inspect.Parameter.empty if value is REQUIRED else value
        # Python has no required parameter behind one with a default but by name.
        keyword_only = keyword_only or (value is REQUIRED and parameters[-1].default is not inspect.Parameter.empty)
        kind = inspect.Parameter.KEYWORD_ONLY if keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(key, kind, default=default))
    return inspect.Signature(parameters)


def _of_call(function: Callable[..., Any], given: list[str]) -> inspect.Signature:
    """The function's signature without what the constructor gives."""
    parameters = [p for n, p in inspect.signature(function).parameters.items() if n not in given]
    return inspect.Signature([_SELF.replace(kind=inspect.Parameter.POSITIONAL_ONLY), *parameters])


__all__ = [
    "Primitive",
    "PrimitiveWithCheck",
    "PrimitiveWithInfer",
    "prim_attr_register",
]
