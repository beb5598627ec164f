"""Probability distributions, and the functions with a derivative that make others of them (MindSpore: nn.probability)."""

from graphc.nn.probability import bijector, distribution

__all__ = ["bijector", "distribution"]
