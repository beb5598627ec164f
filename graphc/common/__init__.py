"""MindSpore's `common` package: initializers under their usual path."""

from graphc.common import initializer

__all__ = ["initializer"]
