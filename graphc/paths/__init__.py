"""MindSpore's modules: which there are, and where in graphc their names are found.

Those that graphc has no file for are modules of graphc all the same: `graphc.ops.operations` is what `mindspore.ops.operations`
is, so a script that names it changes one line. A name that graphc lacks is an ImportError or AttributeError that says so and
names the nearest thing there is.
"""
