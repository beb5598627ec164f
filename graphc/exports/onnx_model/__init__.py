"""Graphs as ONNX models: `model` makes one, `table` finds the rule of an op, which stands in the module of its subject."""
