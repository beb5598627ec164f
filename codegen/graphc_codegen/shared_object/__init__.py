"""A compiled step as a shared object with a C header, which needs neither Python nor Numba: object code, a runtime in C, data.

Linked by the system's C compiler. Not here: what a step's inputs and parameters are called (the caller says).
"""
