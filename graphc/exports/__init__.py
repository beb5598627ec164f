"""A compiled step, or a Cell, in forms that run without graphc: a shared object with a C header, an ONNX model."""
