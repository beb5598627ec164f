"""MindSpore's `common` package: initializers under their usual path, and nothing else."""

from graphc.common import initializer

__all__ = ["initializer"]
