"""From a program's texts to object code, kept between processes and loaded into this one.

Not here: the texts (`text`), and calling what has been loaded (`run`).
"""
