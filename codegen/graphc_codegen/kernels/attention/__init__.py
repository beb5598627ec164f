"""Attention and its gradients, by blocks of keys: no matrix of scores is ever stored."""
