"""Callbacks: what a training loop calls at its stages, and those that come with graphc."""
