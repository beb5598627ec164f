"""Lays a program out as text: `step.py`, and `kernels.ll` around what the emitters write.

Not here: what stands inside a kernel (`loops`, `kernels`), and compiling the texts (`object_code`).
"""
