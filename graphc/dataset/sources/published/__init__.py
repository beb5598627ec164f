"""Published data sets, each read from the files that it is published in: a class is its parameters, where its files are and
what its columns hold.
"""
