"""What can go wrong in this package."""

from __future__ import annotations


class CodegenError(RuntimeError):
    """A program or kernel that cannot be compiled, or a compiler beneath that refused it."""


class CheckedError(RuntimeError):
    """The checked mode met a kernel call that breaks the program's own declarations."""


class CanaryError(RuntimeError):
    """A kernel wrote outside its buffers."""


class CacheWarning(UserWarning):
    """The object cache cannot be used; the step is compiled without it."""
