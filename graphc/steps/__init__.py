"""Compiled steps: how they are compiled, called, kept and let go; steps for one signature, for buckets, for counted sizes."""
