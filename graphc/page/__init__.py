"""The page about a compiled step: one offline HTML file. `view` is what it shows, `html` the file, `excerpts` the lines of
source in it. Reads the step record only; needs no numba.
"""

from graphc.page.html import MATERIAL, Material, embedded, page_of, write_page

__all__ = ["MATERIAL", "Material", "embedded", "page_of", "write_page"]
