"""Threads and processes that compute rows."""
