"""Bases of users' own transforms in MindSpore's modules: a transform of graphc's is any callable."""

from __future__ import annotations

from graphc.dataset.transforms.base import Transform


class TensorOperation(Transform):
    """Base of a user's own transform, which defines `__call__`."""


class PyTensorOperation(TensorOperation):
    """As TensorOperation, of images too."""


class TextTensorOperation(TensorOperation):
    """As TensorOperation, of texts."""


class AudioTensorOperation(TensorOperation):
    """As TensorOperation, of sounds."""


__all__ = ["AudioTensorOperation", "PyTensorOperation", "TensorOperation", "TextTensorOperation"]
