"""Softmax, its logarithm, their gradients, and cross entropy. Not here: the exponential itself (`scalars`)."""
