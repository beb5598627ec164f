"""Classes that scripts ask values for, or give methods, and of which there are no instances here."""

from __future__ import annotations

from graphc.ops.gradients.custom import HookHandle as HookHandle


class StubTensor:
    """MindSpore's promise of a tensor, in `mindspore.common._stub_tensor`: every tensor is there at once."""


__all__ = ["HookHandle", "StubTensor"]
