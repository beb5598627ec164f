"""What MindSpore calls experimental: optimizers whose groups of parameters can be read, changed and scheduled."""

from graphc.experimental import optim

__all__ = ["optim"]
