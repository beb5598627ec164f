"""Compiled programs tied to memory, and run: natively on one thread or several, or checked in plain Python.

Not here: how texts become object code (`object_code`).
"""
