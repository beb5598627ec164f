"""Rows, streams of rows, and the data sets that they are read from."""
