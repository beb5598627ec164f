"""Convolutions and the gradients of their filters by Winograd's transforms. Not here: direct convolutions (`kernels.conv`)."""
