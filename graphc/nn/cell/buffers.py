"""Buffers: tensors of a Cell that are not trained. A compiled step has them as constants, and is made anew for others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from graphc import dispatch
from graphc.errors import ArgumentTypeError, TraceAttributeError, user_loc
from graphc.nn.cell.structure import Child, NameTakenError, Structure
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, TracedTensor


class Buffers(Structure[Child]):
    """The part of Cell that holds buffers: attributes with a tensor or None. What changes in a step is a Parameter."""

    #: The names of buffers, and whether each is in the state dict.
    _buffer_names: dict[str, bool]

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Hold a tensor as the attribute of this name, a buffer; None holds the place (MindSpore: Cell.register_buffer).

        persistent: it is part of `state_dict`. Another tensor may be set as the attribute at any time outside of a compiled
        step. Raises ArgumentTypeError for a name that is no string or what is no tensor, NameTakenError for a name that is
        taken, empty or has a dot.
        """
        owner = type(self).__name__
        free = self._free_name("buffer", name)
        if free not in self._buffer_names and hasattr(self, free):
            raise NameTakenError(f"{owner} already has an attribute {free!r}", loc=user_loc())
        if tensor is not None and (not isinstance(tensor, Tensor) or isinstance(tensor, Parameter)):
            raise ArgumentTypeError(
                f"{owner}: buffer {free!r} must be a Tensor or None, got {type(tensor).__name__}", loc=user_loc()
            )
        self._buffer_names[free] = bool(persistent)
        dispatch.touch()
        setattr(self, free, tensor)

    @property
    def _buffers(self) -> dict[str, Tensor | None]:
        """The buffers of this cell alone by name, as they are now."""
        return {name: self.__dict__.get(name) for name in self._buffer_names}

    def _require_buffer(self, name: str, value: Any) -> None:
        """ArgumentTypeError for what a buffer of this name cannot hold: anything but a tensor or None."""
        if value is not None and (not isinstance(value, Tensor) or isinstance(value, Parameter)):
            raise ArgumentTypeError(
                f"{type(self).__name__}: {name!r} is a buffer, and is given a {type(value).__name__}",
                loc=user_loc(),
                help=f"set a Tensor or None, or take the buffer away: del self.{name}",
            )

    def _as_buffer(self, name: str, value: Any) -> Any:
        """What a buffer of this name is to hold. ArgumentTypeError as above."""
        self._require_buffer(name, value)
        # In PYNATIVE_MODE construct may set one: the value stays, what it was computed from does not.
        return Tensor(value.array) if isinstance(value, TracedTensor) else value

    def get_buffer(self, target: str) -> Tensor | None:
        """The buffer with this path, such as "block.norm.scale" (MindSpore: Cell.get_buffer). AttributeError GC140 if there
        is none.
        """
        path, _, name = target.rpartition(".")
        cell = cast(Buffers[Any], self.get_sub_cell(path))
        if name not in cell._buffer_names:
            what = "is not a buffer" if hasattr(cell, name) else "is not there"
            raise TraceAttributeError(f"get_buffer: {name!r} of {type(cell).__name__} {what}", loc=user_loc())
        return cell._buffers[name]

    def get_sub_cell(self, target: str) -> Child:
        """The cell with this path, such as "block.norm"; this one for "" (MindSpore: Cell.get_sub_cell).

        AttributeError GC140 if there is none.
        """
        cell: Any = self
        for name in target.split(".") if target else ():
            found = cell._cells.get(name)
            if found is None:
                what = "is not a Cell" if hasattr(cell, name) else "is not there"
                raise TraceAttributeError(f"get_sub_cell: {name!r} of {type(cell).__name__} {what}", loc=user_loc())
            cell = found
        return cast(Child, cell)

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Buffers with their paths, each once unless remove_duplicate is False, those of cells below with `recurse`; not
        those that are None (MindSpore: Cell.named_buffers).
        """
        seen: set[int] = set()
        cells = self.cells_and_names(name_prefix=prefix) if recurse else [(prefix, cast(Child, self))]
        for path, cell in cells:
            for name, value in cast(Buffers[Any], cell)._buffers.items():
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once (MindSpore: Cell.buffers)."""
        return (value for _, value in self.named_buffers(recurse=recurse))


__all__ = ["Buffers"]
