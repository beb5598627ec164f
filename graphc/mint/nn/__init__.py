"""Layers with torch's arguments and defaults (MindSpore: mindspore.mint.nn)."""

from graphc.mint.nn import functional

__all__ = ["functional"]
