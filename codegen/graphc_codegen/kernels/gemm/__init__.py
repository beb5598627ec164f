"""Matrix products. Not here: the register tiles that they share with convolutions (`kernels.microkernel`)."""
