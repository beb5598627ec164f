"""Probability distributions, and the functions with a derivative that make others of them (MindSpore: nn.probability)."""

from graphc.nn.probability import bijector, bnn_layers, distribution

__all__ = ["bijector", "bnn_layers", "distribution"]
