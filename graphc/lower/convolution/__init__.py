"""Convolutions on a CPU: which kernel makes each, by a cost model, with which sizes, over which images.

What a convolution is (type rule, reference, gradient) stands in `graphc.ops`, how a kernel does it in `graphc_codegen`.
"""
