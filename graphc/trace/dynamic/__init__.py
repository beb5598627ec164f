"""Sizes and numbers that only the run tells, and values that are known before it."""
