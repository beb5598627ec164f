"""The state dict of a Cell: parameters and buffers by path, given and taken back, with the hooks around both."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, StateDictError, stacklevel, user_loc
from graphc.nn.cell.buffers import Buffers
from graphc.nn.cell.structure import Child
from graphc.ops.gradients.custom import Hook, HookHandle
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor

_EXTRA = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` has found: keys that lack, and keys that nothing takes. Printed in MindSpore's words."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class _Given(OrderedDict[str, Any]):
    """A state dict that is being loaded: what is to be written when all of it has been looked at."""

    def __init__(self, items: Any, writes: list[Callable[[], Any]]) -> None:
        super().__init__(items)
        self.writes = writes


class StateDict(Buffers[Child]):
    """The part of Cell that gives and takes its state dict."""

    # ---- what subclasses may add

    def get_extra_state(self) -> Any:
        """What `state_dict` holds beside parameters and buffers, under `_extra_state`; to be overridden together with
        set_extra_state. Raises StateDictError where it is not.
        """
        raise StateDictError(f"{type(self).__name__} does not define get_extra_state", loc=user_loc())

    def set_extra_state(self, state: Any) -> None:
        """Take back what get_extra_state has given; to be overridden. Raises StateDictError where it is not."""
        raise StateDictError(
            f"{type(self).__name__} does not define set_extra_state, and is given a {type(state).__name__}",
            loc=user_loc(),
        )

    def _overrides(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(StateDict, name)

    # ---- hooks

    def _state_hook(self, kind: str, hook: Hook) -> HookHandle:
        if not callable(hook):
            raise ArgumentTypeError(f"{kind}: the hook must be a function, got {type(hook).__name__}", loc=user_loc())
        return HookHandle(self.__dict__.setdefault("_state_hooks", {}).setdefault(kind, []), hook)

    def _hooks_of_state(self, kind: str) -> list[Hook]:
        return list(self.__dict__.get("_state_hooks", {}).get(kind, ()))

    def register_state_dict_pre_hook(self, hook: Hook) -> HookHandle:
        """hook(cell, prefix, keep_vars) before the cell is put into a state dict. Returns a handle with `remove()`."""
        return self._state_hook("register_state_dict_pre_hook", hook)

    def register_state_dict_post_hook(self, hook: Hook) -> HookHandle:
        """hook(cell, state_dict, prefix, local_metadata) behind it; it may change the dict, and returns None."""
        return self._state_hook("register_state_dict_post_hook", hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> HookHandle:
        """hook(cell, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs) before the cell
        looks for its state; it may change the dict and the lists.
        """
        return self._state_hook("register_load_state_dict_pre_hook", hook)

    def register_load_state_dict_post_hook(self, hook: Hook) -> HookHandle:
        """hook(cell, incompatible_keys) when all is loaded; it may change the lists, and returns None."""
        return self._state_hook("register_load_state_dict_post_hook", hook)

    # ---- giving

    def state_dict(
        self,
        *args: Any,
        destination: dict[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """Parameters and persistent buffers by path, themselves, no copies (MindSpore: Cell.state_dict).

        destination: a dict to fill; prefix: what all keys begin with; keep_vars: for hooks and overridden methods. They may
        be given by position, with a FutureWarning. Random states of layers are not in it, as they are in no MindSpore
        state dict: a checkpoint has them. Raises ArgumentTypeError.
        """
        if args:
            warnings.warn(
                "state_dict: give destination, prefix and keep_vars by name", FutureWarning, stacklevel=stacklevel()
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and not prefix else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        for name, value, kind in (("prefix", prefix, str), ("keep_vars", keep_vars, bool)):
            if not isinstance(value, kind):
                raise _wrong("state_dict", name, f"a {kind.__name__}", value)
        if destination is None:
            destination = OrderedDict()
            cast(Any, destination)._metadata = OrderedDict()
        if not isinstance(destination, dict):
            raise _wrong("state_dict", "destination", "a dict", destination)
        metadata: dict[str, Any] = {}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._hooks_of_state("register_state_dict_pre_hook"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, cell in self._cells.items():
            cast(StateDict[Any], cell).state_dict(
                destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
            )
        for hook in self._hooks_of_state("register_state_dict_post_hook"):
            _nothing(hook(self, destination, prefix, metadata), "register_state_dict_post_hook")
        return destination

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Put the state of this cell alone into a dict; subclasses may do it in another way."""
        destination.update((prefix + name, value) for name, value in self._own_state())
        if self._overrides("get_extra_state"):
            destination[prefix + _EXTRA] = self.get_extra_state()

    def _own_state(self) -> Iterator[tuple[str, Tensor]]:
        """Parameters and persistent buffers of this cell alone."""
        yield from dict(self._here()).items()
        for name, value in self._buffers.items():
            if value is not None and self._buffer_names[name]:
                yield name, value

    # ---- taking

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> IncompatibleKeys:
        """Copy the values of a state dict into parameters and buffers, cast to their dtypes (MindSpore:
        Cell.load_state_dict).

        Nothing is written unless everything fits. strict: keys that lack, or that nothing takes, are an error. Returns
        (missing_keys, unexpected_keys). Raises StateDictError, or ArgumentTypeError for what is no mapping.
        """
        if not isinstance(state_dict, Mapping):
            raise _wrong("load_state_dict", "state_dict", "a dict", state_dict)
        keys, problems = IncompatibleKeys([], []), cast(list[str], [])
        writes: list[Callable[[], Any]] = []
        metadata = getattr(state_dict, "_metadata", None) or {}
        cells = list(self._load("", _Given(state_dict, writes), metadata, keys, problems))
        hooked = any(cell._hooks_of_state("register_load_state_dict_post_hook") for cell in cells)
        if problems or (strict and not hooked):
            self._refuse(problems, keys, strict)
        for write in writes:
            write()
        dispatch.touch()
        for cell in cells:
            for hook in cell._hooks_of_state("register_load_state_dict_post_hook"):
                _nothing(hook(cell, keys), "register_load_state_dict_post_hook")
        self._refuse(problems, keys, strict)
        return keys

    def _load(
        self, prefix: str, given: _Given, metadata: Any, keys: IncompatibleKeys, problems: list[str]
    ) -> Iterator[StateDict[Any]]:
        """Look for the state of this cell and all below it; the cells, children before parents."""
        local = metadata.get(prefix[:-1], {})
        self._load_from_state_dict(given, prefix, local, True, keys.missing_keys, keys.unexpected_keys, problems)
        for name, child in self._cells.items():
            path = f"{prefix}{name}."
            below = _Given({k: v for k, v in given.items() if k.startswith(path)}, given.writes)
            yield from cast(StateDict[Any], child)._load(path, below, metadata, keys, problems)
        yield self

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Look for the state of this cell alone; subclasses may change the dict or the lists before or behind."""
        lists = (missing_keys, unexpected_keys, error_msgs)
        for hook in self._hooks_of_state("register_load_state_dict_pre_hook"):
            hook(self, state_dict, prefix, local_metadata, strict, *lists)
        own = dict(self._own_state())
        writes: list[Callable[[], Any]] = getattr(state_dict, "writes", [])
        for name, held in own.items():
            key = prefix + name
            if key in state_dict:
                self._take(name, held, key, state_dict[key], error_msgs, writes)
            elif strict:
                missing_keys.append(key)
        key = prefix + _EXTRA
        if self._overrides("set_extra_state"):
            if key in state_dict:
                state = state_dict[key]
                writes.append(lambda: self.set_extra_state(state))
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)
        if strict:
            rest = [k[len(prefix) :] for k in state_dict if k.startswith(prefix) and k != key]
            unexpected_keys += [prefix + k for k in rest if k not in own and not self._is_below(k)]

    def _is_below(self, key: str) -> bool:
        """Whether a key belongs to a cell below."""
        child, dot, _ = key.partition(".")
        return bool(dot) and child in self._cells

    def _take(
        self, name: str, held: Tensor, key: str, value: Any, errors: list[str], writes: list[Callable[[], Any]]
    ) -> None:
        """Note that a value is to be written, or what is wrong with it."""
        if not isinstance(value, Tensor):
            errors.append(f"{key}: expected a Tensor, got {type(value).__name__}")
            return
        array = value.asnumpy()
        if array.shape != held.shape:
            errors.append(f"{key}: its shape is {array.shape}, the cell's {held.shape}")
            return
        made = Tensor(array.astype(held.tensor_type.numpy))
        if not held.tensor_type.is_float and not np.array_equal(made.asnumpy(), array):
            errors.append(f"{key}: its values are no {held.tensor_type.dtype}")
        elif isinstance(held, Parameter):
            writes.append(lambda: held.set_data(made))
        else:
            writes.append(lambda: setattr(self, name, made))

    def _refuse(self, problems: list[str], keys: IncompatibleKeys, strict: bool) -> None:
        lists = (("missing", keys.missing_keys), ("unexpected", keys.unexpected_keys)) if strict else ()
        said = [f"{word}: {', '.join(found[:8])}{' ...' if len(found) > 8 else ''}" for word, found in lists if found]
        said += problems[:8]
        if said:
            raise StateDictError(
                f"the state dict does not fit {type(self).__name__}",
                loc=user_loc(),
                details=said,
                help="strict=False leaves out what does not match by name" if not problems else None,
            )


def _wrong(function: str, name: str, expected: str, value: Any) -> ArgumentTypeError:
    return ArgumentTypeError(f"{function}: {name} must be {expected}, got {type(value).__name__}", loc=user_loc())


def _nothing(made: Any, kind: str) -> None:
    if made is not None:
        raise StateDictError(f"{kind}: the hook must return None, it returned a {type(made).__name__}", loc=user_loc())


__all__ = ["IncompatibleKeys", "StateDict"]
