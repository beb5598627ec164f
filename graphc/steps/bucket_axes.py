"""Which axes of inputs vary, what sizes there is room for, and how the inputs of a call are padded to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, SignatureError, user_loc
from graphc.ir import TensorType
from graphc.nn.cell.cell import Cell
from graphc.nn.cell.inputs import Open
from graphc.ops.declared.padding import Axes, Factor, plain
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, require_array
from graphc.ops.tensor.tree import Structure, parts
from graphc.passes.padded_arrays import padded_array
from graphc.passes.padded_graph import Sizes
from graphc.trace import input_names

#: The sizes that an axis has room for; None: the powers of two from 2 on.
Room = tuple[int, ...] | None


@dataclass(frozen=True)
class Varying:
    """Which axes vary, and the sizes there is room for: for the arguments by their names, or for axis 0 of all tensors.

    Axes of the same number have one size in a call. `key`: equal for those that say the same.
    """

    named: Mapping[str, Mapping[int, Room]] | None
    every: Room = None
    declared: tuple[Open, ...] = ()

    @property
    def key(self) -> Any:
        """What is equal for two that pad alike."""
        named = self.named and tuple((name, tuple(axes.items())) for name, axes in sorted(self.named.items()))
        return named, self.every, self.declared

    def plan(self, cell: Cell, leaves: Sequence[Tensor], structure: Structure) -> Plan:
        """How these inputs are padded. Raises SignatureError where they have no room, ArgumentValueError for unknown names."""
        names = input_names(cell, structure, list(leaves))
        self._check(dict(zip(names, leaves, strict=True)))
        if self.named is None:
            rooms = [
                {0: self.every} if x.shape and not isinstance(x, Parameter) and not x.is_number else {} for x in leaves
            ]
        else:
            self._require(names)
            rooms = [dict(self.named.get(n, {})) for n in names]
        for k in sorted(parts(structure)):
            if rooms[k]:
                raise SignatureError(
                    f"{names[k]!r} is a part of a sparse tensor: its size cannot vary",
                    loc=user_loc(),
                    help="name the other arguments in buckets, or leave them out: each size is then a step of its own",
                )
        found: dict[int, tuple[int, str, Room]] = {}
        for x, name, axes in zip(leaves, names, rooms, strict=True):
            for k, room in axes.items():
                if k >= len(x.shape):
                    raise SignatureError(
                        f"axis {k} of {name!r} is to vary, it is {x.tensor_type}",
                        loc=user_loc(),
                        help="give it that axis",
                    )
                if found.setdefault(k, (x.shape[k], name, room))[0] != x.shape[k]:
                    raise SignatureError(
                        f"axes {k} of {found[k][1]!r} and {name!r} vary together, but have sizes {found[k][0]} and {x.shape[k]}",
                        loc=user_loc(),
                        help="name the arguments that vary: buckets={name: {axis: sizes}}",
                    )
        symbols = sorted(found)
        sizes = [_next(found[k][2], found[k][0], k, found[k][1]) for k in symbols]
        probes: list[int] = []
        for bucket, low in sizes:
            probes.append(_probe(bucket, low, probes))
        place = {k: s for s, k in enumerate(symbols)}
        axes_of = tuple(
            tuple(
                (Factor(sizes[place[k]][0], place[k]),) if k in axes else plain(d)
                for k, d in enumerate(x.tensor_type.shape)
            )
            if axes
            else ()
            for x, axes in zip(leaves, rooms, strict=True)
        )
        lengths = tuple(found[k][0] for k in symbols)
        return Plan(
            axes_of,
            lengths,
            Sizes(
                tuple(room for room, _ in sizes),
                tuple(probes),
                tuple(low for _, low in sizes),
                tuple(f"length{k}" for k in symbols),
            ),
        )

    def _check(self, given: Mapping[str, Tensor]) -> None:
        """SignatureError for an input that is not as `set_inputs` has said."""
        for name, dtype, shape in self.declared:
            type = given[name].tensor_type if name in given else TensorType(dtype, ())
            fits = len(shape) == type.rank and all(d in (None, n) for d, n in zip(shape, type.shape, strict=True))
            if name in given and not (fits and dtype == type.dtype):
                head = str(TensorType(dtype, ()))[:-2]
                raise SignatureError(
                    f"{name!r} is {type}, set_inputs has said {head}[{','.join(map(str, shape))}]", loc=user_loc()
                )

    def _require(self, names: Sequence[str]) -> None:
        for name in self.named or ():
            if name not in names and not self.declared:
                raise ArgumentValueError(
                    f"there is no input {name!r} whose size could vary; there are {', '.join(map(repr, names))}",
                    loc=user_loc(),
                )


def _next(room: Room, size: int, axis: int, name: str) -> tuple[int, int]:
    """The bucket of a size, and the least size in it."""
    if not size:
        raise SignatureError(
            f"axis {axis} of {name!r} has size 0: there is nothing to pad",
            loc=user_loc(),
            help="leave out empty inputs",
        )
    if room is None:
        bucket = max(2, 1 << (size - 1).bit_length())
        return bucket, 1 if bucket == 2 else bucket // 2 + 1
    for before, bucket in zip((0, *room), room, strict=False):
        if size <= bucket:
            return bucket, before + 1
    raise SignatureError(
        f"axis {axis} of {name!r} has size {size}, the largest bucket is {room[-1]}",
        loc=user_loc(),
        help=f"a bucket more: buckets=({', '.join(map(str, room))}, {size})",
    )


def _probe(room: int, low: int, others: Sequence[int]) -> int:
    """Another size of a bucket; not 1, which is broadcast, 2 if need be, and where it can be none that another axis has."""
    least = max(3, low)
    inside = range(least, min(room, least + 1 + len(others)))
    small = range(2, min(3, room) if low < 3 else 0)
    sizes: list[int] = [*inside, *small, *range(room + 1, room + 2 + len(others))]
    found: int = next(n for n in sizes if n not in others)
    return found


@dataclass(frozen=True)
class Plan:
    """How inputs are padded: the axes of each (() for those that are not), their lengths, and the sizes of the bucket."""

    axes: tuple[Axes, ...]
    lengths: tuple[int, ...]
    sizes: Sizes

    def padded(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """The inputs with padding."""
        return [
            Tensor.wrap(padded_array(require_array(x), a, self.lengths)) if a else x
            for x, a in zip(leaves, self.axes, strict=True)
        ]

    def types(self, leaves: Sequence[Tensor]) -> list[TensorType]:
        """What they are with padding."""
        return self._types(leaves, self.sizes.room)

    def _types(self, leaves: Sequence[Tensor], lengths: Sequence[int]) -> list[TensorType]:
        made = []
        for x, axes in zip(leaves, self.axes, strict=True):
            type = x.tensor_type
            shape = tuple(
                lengths[a[0].symbol] if a and a[0].symbol >= 0 else d
                for a, d in zip(axes or ((),) * type.rank, type.shape, strict=True)
            )
            made.append(TensorType(type.dtype, shape))
        return made

    def examples(self, leaves: Sequence[Tensor], lengths: Sequence[int]) -> list[Tensor]:
        """Inputs of other lengths, whose values do not matter."""
        types = self._types(leaves, lengths)
        return [
            Tensor.wrap(np.zeros(t.shape, t.numpy)) if a else x
            for x, a, t in zip(leaves, self.axes, types, strict=True)
        ]


def varying_inputs(declared: tuple[Open, ...]) -> Varying:
    """What `set_inputs` has said: the axes that are None have room for the powers of two."""
    return Varying(
        {name: {k: None for k, d in enumerate(shape) if d is None} for name, _, shape in declared}, None, declared
    )


def open_axes(dynamic: Any) -> dict[Any, dict[Any, None]]:
    """What the argument `dynamic` says, as buckets: {input: an axis, or several}, with room for the powers of two.

    Raises ArgumentTypeError.
    """
    if not isinstance(dynamic, Mapping):
        raise ArgumentTypeError(
            f"dynamic: must be {{input: an axis, or several}}, got {type(dynamic).__name__}",
            loc=user_loc(),
            help='dynamic={"x": 0} leaves axis 0 of the input x open',
        )
    return {name: dict.fromkeys((k,) if type(k) is int else k) for name, k in dynamic.items()}


def varying_of(buckets: Any) -> Varying:
    """What the argument `buckets` says: sizes of axis 0 of all tensors, or {input: sizes of axis 0, or {axis: sizes}}.

    Raises ArgumentTypeError, ArgumentValueError.
    """
    if isinstance(buckets, Mapping):
        named = {}
        for name, axes in buckets.items():
            if not isinstance(name, str):
                raise ArgumentTypeError(f"buckets: keys are names of inputs, got {name!r}", loc=user_loc())
            each = axes if isinstance(axes, Mapping) else {0: axes}
            for k in each:
                if type(k) is not int or k < 0:
                    raise ArgumentValueError(f"buckets: an axis is a number from 0 on, got {k!r}", loc=user_loc())
            named[name] = {k: _sizes(v) for k, v in each.items()}
        return Varying(named)
    return Varying(None, _sizes(buckets))


def _sizes(given: Any) -> Room:
    """Rising sizes, or None for the powers of two."""
    if given is None:
        return None
    sizes = (given,) if type(given) is int else given
    if not isinstance(sizes, (tuple, list)) or not all(type(n) is int for n in sizes):
        raise ArgumentTypeError(f"buckets: sizes are a tuple of ints, got {given!r}", loc=user_loc())
    if sizes and max(sizes) > np.iinfo(np.int32).max:
        raise ArgumentValueError(f"buckets: a size is below 2 ** 31, got {given!r}", loc=user_loc())
    if not sizes or any(b <= a for a, b in zip((1, *sizes), sizes, strict=False)):
        raise ArgumentValueError(f"buckets: sizes rise from 2 on, got {given!r}", loc=user_loc())
    return tuple(sizes)
