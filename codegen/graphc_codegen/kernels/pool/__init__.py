"""Pooling and its gradients. Not here: the pooling that a convolution does as it stores (`kernels.winograd.batch_pool`)."""
