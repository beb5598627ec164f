"""What can go wrong in this package."""

from __future__ import annotations


class CodegenError(RuntimeError):
    """A program or kernel that cannot be compiled, or a compiler beneath that refused it."""


class CheckedError(RuntimeError):
    """The checked mode met a kernel call that breaks the program's own declarations."""


class CanaryError(RuntimeError):
    """A kernel wrote outside its buffers."""


class KernelError(RuntimeError):
    """A user's function that a kernel calls cannot be compiled, gives something else than declared, or has raised.

    `name` is the op's, `problem` what happened, `note` that of the call: the nodes that it computes.
    """

    def __init__(self, name: str, problem: str, note: str = "") -> None:
        super().__init__(name, problem, note)
        self.name = name
        self.problem = problem
        self.note = note

    def __str__(self) -> str:
        return f"the kernel of {self.name} {self.problem}" + (f" ({self.note})" if self.note else "")


class OutOfRange(KernelError):
    """An index is not in the range that a kernel asks for: the first one, and the size of what it is an index of."""

    def __init__(self, index: int, size: int) -> None:
        super().__init__("in_bounds", f"met the index {index} of {size}")
        self.index = index
        self.size = size


class OtherMessage(KernelError):
    """A message has another length than its receiver expects, in bytes."""

    def __init__(self, came: int, expected: int) -> None:
        super().__init__("message_wait", f"got {came} bytes, not {expected}")
        self.came = came
        self.expected = expected


class CacheWarning(UserWarning):
    """The object cache cannot be used; the step is compiled without it."""
