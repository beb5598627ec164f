"""Looking at graphs: dumps on disk (`dump`), slices and the overflow order (`flow`, `show`), `diff`, dot and mermaid
(`export`), and the `graphc` command (`cli`). Reads the IR only; needs no numba. Nothing is imported here, so that
`graphc --help` stays quick.
"""
