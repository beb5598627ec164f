"""The command line: parsing (`main`), what the commands do (`commands`), what their arguments name (`targets`), `doctor`.

What is looked at and how it is written is `graphc.inspect`'s.
"""
