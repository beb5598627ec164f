"""The scalar operations of loop bodies, on vectors in registers.

Not here: loops, and reading and writing memory (`loops`, `kernels`).
"""
