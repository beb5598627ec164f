"""Values that live and die with an object of the user's: they lie in its `__dict__`.

A WeakKeyDictionary would keep alive for good whatever its values refer to, and a compiled step refers to much.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

#: The attribute under which they lie.
KEY = "_graphc_attached"
#: How many objects without a `__dict__` have their values kept, and are kept alive for it.
_OTHERS = 64

_EMPTY: dict[str, Any] = {}
_others: OrderedDict[int, tuple[Any, Attached]] = OrderedDict()


#: What stands for an object that is gone.
GONE = object()


def behind(value: Any) -> Any:
    """What a weak proxy stands for, or GONE, when it raises ReferenceError whatever it is asked; of all else, the value."""
    if type(value) not in weakref.ProxyTypes:
        return value
    try:
        return value.__repr__.__self__
    except ReferenceError:
        return GONE


class Attached:
    """The values of one object. A copy of the object, deep, shallow or by pickle, begins without any."""

    __slots__ = ("owner", "values")

    def __init__(self, owner: Any = None) -> None:
        #: Gives the object, None for a copy's.
        self.owner: Callable[[], Any] = weakref.ref(owner) if owner is not None else _nobody
        self.values: dict[Hashable, Any] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Attached:
        return Attached()

    def __reduce__(self) -> tuple[type[Attached], tuple[()]]:
        return Attached, ()


def attached(owner: Any, name: Hashable, make: Callable[[], Any]) -> Any:
    """The value of this name that belongs to `owner`; made when it is first asked for."""
    held = getattr(owner, "__dict__", _EMPTY).get(KEY)
    if held is not None and held.owner() is owner:
        found = held.values.get(name)
        if found is not None:
            return found
    return _values(owner).setdefault(name, make())


def _values(owner: Any) -> dict[Hashable, Any]:
    space = getattr(owner, "__dict__", None)
    if isinstance(space, dict):
        try:
            made = Attached(owner)
        except TypeError:  # Without weak references.
            return _kept(owner)
        held = space.setdefault(KEY, made)
        if held.owner() is not owner:
            held = space[KEY] = made
        return held.values  # type: ignore[no-any-return]
    return _kept(owner)


def _kept(owner: Any) -> dict[Hashable, Any]:
    """The values of an object that has no place for them."""
    found = _others.get(id(owner))
    if found is None:
        found = _others.setdefault(id(owner), (owner, Attached()))
        while len(_others) > _OTHERS:
            _others.popitem(last=False)
    return found[1].values


def _nobody() -> None:
    return None
