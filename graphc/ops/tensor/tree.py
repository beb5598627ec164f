"""Nested tuples, lists and dicts of tensors, taken apart and put together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from graphc.attached import KEY
from graphc.ops.tensor.deferred import Stacked
from graphc.ops.tensor.mutable import MutableDict, MutableList, MutableTuple
from graphc.ops.tensor.row_tensor import RowTensor
from graphc.ops.tensor.sparse import Sparse
from graphc.ops.tensor.tensor import Tensor


class Leaf(NamedTuple):
    """The place of tensor `number`."""

    number: int


class Fixed(NamedTuple):
    """A Python value that is no tensor."""

    value: Any


class Nest(NamedTuple):
    """A container: its type ("tuple", "list", "dict", "mutable tuple", ...), keys of a dict, and the structures inside.

    A named tuple has its class in place of keys; a dict of another class ("mapping") its class, its keys, and the names of its
    attributes, of those that are its items last; an object ("object") its class and these names; a RowTensor ("rows") its shape
    and whether it is merged; a COOTensor or a CSRTensor ("sparse") its class and shape; a list of as many items as only the run
    tells ("stacked") its class, the structure of an item, and which of its tensors are numbers.
    """

    kind: str
    keys: tuple[Any, ...]
    items: tuple[Any, ...]


Structure = Leaf | Fixed | Nest

_MUTABLE = {MutableTuple: "mutable tuple", MutableList: "mutable list", MutableDict: "mutable dict"}

_MAKERS = {"tuple": tuple, "list": list, "dict": dict, **{kind: maker for maker, kind in _MUTABLE.items()}}


def flatten(
    tree: Any,
    leaves: list[Tensor] | None = None,
    whole: bool = False,
    opened: Callable[[Any], dict[str, Any] | None] | None = None,
) -> tuple[list[Tensor], Structure]:
    """The tensors of a nest in order, and its structure. Everything that is no container or tensor is part of the structure.

    A RowTensor is a container of its parts, or, if `whole`, a tensor. opened: the attributes of an object that is a container of
    them, None for others.
    """
    leaves = [] if leaves is None else leaves
    if isinstance(tree, RowTensor) and not whole:
        items = tuple(flatten(x, leaves)[1] for x in (tree.indices, tree.values))
        return leaves, Nest("rows", (tree.dense_shape, tree.is_merged), items)
    if isinstance(tree, Tensor):
        leaves.append(tree)
        return leaves, Leaf(len(leaves) - 1)
    if isinstance(tree, (tuple, list)):
        items = tuple(flatten(x, leaves, whole, opened)[1] for x in tree)
        if is_named(tree):
            return leaves, Nest("named tuple", (type(tree),), items)
        return leaves, Nest(_MUTABLE.get(type(tree), "tuple" if isinstance(tree, tuple) else "list"), (), items)
    if isinstance(tree, Sparse):
        items = tuple(flatten(x, leaves, whole, opened)[1] for x in tree.parts)
        return leaves, Nest("sparse", (type(tree), tree.shape), items)
    if isinstance(tree, Stacked):
        items = tuple(flatten(x, leaves)[1] for x in tree.rows)
        return leaves, Nest("stacked", (type(tree), tree.structure, tree.numbers), items)
    if isinstance(tree, dict) and type(tree) is not dict and type(tree) not in _MUTABLE:
        own, shared = _attributes(tree)
        items = tuple(flatten(x, leaves, whole, opened)[1] for x in (*tree.values(), *own.values()))
        return leaves, Nest("mapping", (type(tree), tuple(tree), tuple(own), shared), items)
    if isinstance(tree, dict):
        return leaves, Nest(
            _MUTABLE.get(type(tree), "dict"),
            tuple(tree),
            tuple(flatten(x, leaves, whole, opened)[1] for x in tree.values()),
        )
    held = opened(tree) if opened is not None else None
    if held is not None:
        items = tuple(flatten(x, leaves, whole, opened)[1] for x in held.values())
        return leaves, Nest("object", (type(tree), tuple(held)), items)
    return leaves, Fixed(tree)


def is_named(tree: tuple[Any, ...] | list[Any]) -> bool:
    """Whether it is of a `collections.namedtuple`, which takes its items one by one."""
    return isinstance(tree, tuple) and hasattr(tree, "_fields")


def unflatten(structure: Structure, leaves: list[Any] | tuple[Any, ...]) -> Any:
    """The inverse of `flatten`."""
    if isinstance(structure, Leaf):
        return leaves[structure.number]
    if isinstance(structure, Fixed):
        return structure.value
    items = [unflatten(s, leaves) for s in structure.items]
    if structure.kind == "rows":
        return _rows(*items, *structure.keys)
    if structure.kind == "sparse":
        return structure.keys[0].of(items, structure.keys[1])
    if structure.kind == "named tuple":
        return structure.keys[0](*items)
    if structure.kind == "mapping":
        return _mapping(items, *structure.keys)
    if structure.kind == "object":
        kind, names = structure.keys
        return _with(object.__new__(kind), names, items)
    if structure.kind == "stacked":
        return _listed(items, *structure.keys)
    make: Any = _MAKERS[structure.kind]
    return make(zip(structure.keys, items, strict=True)) if structure.kind.endswith("dict") else make(items)


def tensors(tree: Any) -> Iterator[Tensor]:
    """The tensors of a nest in order, a RowTensor among them."""
    return iter(flatten(tree, whole=True)[0])


def without_values(structure: Structure) -> set[int]:
    """The numbers of tensors that say where a sparse tensor has its values."""
    if not isinstance(structure, Nest):
        return set()
    if structure.kind == "sparse":
        return {part.number for part in structure.items[:-1] if isinstance(part, Leaf)}
    return set().union(*map(without_values, structure.items))


def a_sparse(structure: Nest) -> str:
    """A COOTensor or CSRTensor in words."""
    kind, shape = structure.keys
    return f"a {kind.__name__} {shape}"


def sparse_in(structure: Structure) -> Iterator[Nest]:
    """The COOTensors and CSRTensors of a structure, in order."""
    if isinstance(structure, Nest):
        yield from (structure,) if structure.kind == "sparse" else ()
        for item in structure.items:
            yield from sparse_in(item)


def parts(structure: Structure) -> set[int]:
    """The numbers of tensors that are parts of a RowTensor, a COOTensor or a CSRTensor."""
    if not isinstance(structure, Nest):
        return set()
    if structure.kind in ("rows", "sparse"):
        return {part.number for part in structure.items if isinstance(part, Leaf)}
    return set().union(*map(parts, structure.items))


def _rows(indices: Any, values: Any, shape: tuple[int, ...], is_merged: bool) -> Any:
    """A RowTensor; a plain tuple of what stands in place of its parts."""
    if not (isinstance(indices, Tensor) and isinstance(values, Tensor)):
        return indices, values
    made = RowTensor(indices, values, shape)
    made.is_merged = is_merged
    return made


def with_items(tree: dict[Any, Any], values: Iterable[Any]) -> Any:
    """A dict of the same class, with the same keys and attributes, and other items."""
    own, shared = _attributes(tree)
    return _mapping([*values, *own.values()], type(tree), tuple(tree), tuple(own), shared)


def _attributes(tree: dict[Any, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The attributes of a dict of another class; the names of those that are its items under the same keys, left out of these."""
    held = {n: x for n, x in getattr(tree, "__dict__", {}).items() if n != KEY}
    shared = tuple(n for n, x in held.items() if n in tree and tree[n] is x)
    own = {n: x for n, x in held.items() if n not in shared}
    return {**own, "default_factory": tree.default_factory} if isinstance(tree, defaultdict) else own, shared


def _mapping(
    items: list[Any], kind: type[dict[Any, Any]], keys: tuple[Any, ...], names: tuple[str, ...], shared: tuple[str, ...]
) -> Any:
    made = kind.__new__(kind)
    put = OrderedDict.__setitem__ if issubclass(kind, OrderedDict) else dict.__setitem__
    for key, value in zip(keys, items, strict=False):
        put(made, key, value)
    _with(made, names, items[len(keys) :])
    return _with(made, shared, [made[n] for n in shared])


def _with(made: Any, names: tuple[str, ...], values: list[Any]) -> Any:
    """An object with these attributes, past whatever its class makes of setting one."""
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


def _listed(rows: list[Any], kind: type[Stacked], structure: Structure, numbers: tuple[bool, ...]) -> Any:
    """A list of as many items as only the run tells, while it is traced; when the step has run a list of its items."""
    if not rows or any(not isinstance(x, Tensor) or x.array is None for x in rows):
        return kind(rows, structure, numbers)
    made = [[x[k].item() if n else x[k] for x, n in zip(rows, numbers, strict=True)] for k in range(len(rows[0]))]
    return [unflatten(structure, item) for item in made]


def map_tensors(fn: Callable[[Tensor], Any], tree: Any) -> Any:
    """The nest with fn applied to every tensor, a RowTensor among them."""
    leaves, structure = flatten(tree, whole=True)
    return unflatten(structure, [fn(x) for x in leaves])


def map_values(fn: Callable[[Tensor], Any], tree: Any) -> Any:
    """As `map_tensors`, but that of a sparse tensor the places stay, whatever fn makes of them."""
    leaves, structure = flatten(tree, whole=True)
    places = without_values(structure)
    made = [(x, fn(x)) for x in leaves]
    return unflatten(structure, [x if k in places else y for k, (x, y) in enumerate(made)])


def map_leaves(fn: Callable[[Tensor], Any], tree: Any) -> Any:
    """The nest with fn applied to every tensor that `flatten` finds: to the parts of a RowTensor."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [fn(x) for x in leaves])


def fixed_values(structure: Structure) -> Iterable[Any]:
    """The Python values of a structure, in order."""
    if isinstance(structure, Fixed):
        yield structure.value
    elif isinstance(structure, Nest):
        for item in structure.items:
            yield from fixed_values(item)
