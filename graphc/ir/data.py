"""Data: the contents of a constant."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from graphc.ir.types import TensorType

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Data:
    """The contents of a constant: a read-only array, compared by content. `array` is None when only the hash was parsed."""

    def __init__(self, array: NDArray[Any] | None, *, digest: str | None = None, type: TensorType) -> None:
        if array is not None:
            # ascontiguousarray makes 0-d arrays 1-d.
            array = np.ascontiguousarray(array).reshape(array.shape)
            array = array.copy() if array.flags.writeable else array
            array.flags.writeable = False
        self.array = array
        self.type = type
        self._digest = digest

    @cached_property
    def digest(self) -> str:
        """Hash of dtype, shape and bytes."""
        if self._digest is not None:
            return self._digest
        assert self.array is not None
        return hashlib.sha256(f"{self.type}".encode() + self.array.tobytes()).hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Data) and (self.type, self.digest) == (other.type, other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)
