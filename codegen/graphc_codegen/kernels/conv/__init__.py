"""Convolutions as sums over taps, and the gradient of their filters. Not here: Winograd's (`kernels.winograd`)."""
