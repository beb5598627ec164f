"""Discrete Fourier transforms along one axis, many of them side by side in the lanes of vectors."""
