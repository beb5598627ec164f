"""What scripts take from the inside of MindSpore's primitives and Cells: running an op by its name, seeds, noted arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, TraceError, user_loc
from graphc.ops import primitives
from graphc.ops.tensor.primitive import Primitive
from graphc.ops.tensor.seed import get_seed, times_set
from graphc.ops.tensor.tree import map_tensors
from graphc.validation.checks import exact_int

#: What stands for a global seed of 0, how far an op's seed moves with a call, and what seeds stay below (MindSpore).
_DEFAULT_SEED, _STEP, _MOST = 87654321, 3528531795 ^ 3449720151, 2**31 - 1
#: The next seed of ops by how often the global seed has been set, the op's name and the seed that it was given.
_op_seeds: dict[tuple[int, str, int], int] = {}


def _run_op(obj: Any, op_name: str, args: Sequence[Any]) -> Any:
    """Run graphc's primitive of that name on the operands, with those attributes of `obj` that it has.

    TraceError GC101 if there is none.
    """
    found = getattr(primitives, str(op_name), None)
    if not (isinstance(found, type) and issubclass(found, Primitive) and hasattr(found, "attributes")):
        raise TraceError(
            f"graphc has no primitive {op_name!r}",
            code="GC101",
            loc=user_loc(),
            help="compute it with functions of graphc.ops",
        )
    given = {k: v for k, v in vars(obj).items() if k in found.attributes}
    return found(**given)(*args)


def mixed_precision_cast(dst_type: Any, x: Any) -> Any:
    """x, its float tensors cast to a dtype; it may be a nest of tuples, lists and dicts of tensors and other things."""
    return map_tensors(lambda t: ops.cast(t, dst_type) if t.tensor_type.is_float else t, x)


def _get_graph_seed(op_seed: int | None, kernel_name: str) -> tuple[int, int]:
    """(global seed, seed of the op), another one for each call with the same name and seed; (0, 0) if neither is set.

    op_seed: an int >= 0, or None for 0; ArgumentTypeError or ArgumentValueError otherwise.
    """
    seed = get_seed()
    start = 0 if seed is None else (_DEFAULT_SEED if seed == 0 else seed)
    given = 0 if op_seed is None else op_seed
    exact_int(kernel_name, "seed", given)
    if given < 0:
        raise ArgumentValueError(f"{kernel_name}: seed must be at least 0, got {given}", loc=user_loc())
    if start == given == 0:
        return 0, 0
    key = (times_set(), kernel_name, given)
    now = _op_seeds.get(key, given)
    _op_seeds[key] = now + _STEP
    return start % _MOST, now % _MOST


_get_seed = _get_graph_seed


def cell_attr_register(fn: Callable[..., None] | None = None, attrs: list[str] | str | None = None) -> Any:
    """A decorator for `__init__` of a Cell that notes, as the text `cell_init_args`, what it was given, or the attributes named.

    Raises ArgumentTypeError unless attrs are names.
    """
    names = [attrs] if isinstance(attrs, str) else attrs
    if names is not None and not (isinstance(names, list) and all(isinstance(n, str) for n in names)):
        raise ArgumentTypeError(f"cell_attr_register: attrs must be names, got {attrs!r}", loc=user_loc())

    def decorate(init: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(init)

        @functools.wraps(init)
        def noted(self: Any, *args: Any, **kwargs: Any) -> None:
            init(self, *args, **kwargs)
            if names is None:
                values = list(signature.bind(self, *args, **kwargs).arguments.values())[1:]
            else:
                values = [getattr(self, n) for n in names if hasattr(self, n)]
            self.cell_init_args = type(self).__name__ + str(values)

        return noted

    return decorate if fn is None else decorate(fn)


__all__ = ["cell_attr_register", "get_seed", "mixed_precision_cast"]
