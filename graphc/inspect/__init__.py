"""Looking at graphs: dumps on disk (`dump`), slices and the overflow order (`flow`, `show`), `diff`, dot and mermaid (`export`).

Reads the IR only; needs no numba. Nothing is imported here, so that the command line starts quickly.
"""
