"""What users hold: Tensor, Parameter, their dtypes, nests and seeds; where the call of an op goes.

No functions of tensors: they are in `graphc.ops.functional` and install themselves as methods.
"""
