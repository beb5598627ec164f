"""The page about a compiled step: one offline HTML file. `view` is what it shows, `html` the file, `material` what it shows
beside the step record, `excerpts` the lines of source in it. Needs no numba.
"""

from graphc.page.html import embedded, page_of, write_page
from graphc.page.material import Material, material_of, read_material

__all__ = ["Material", "embedded", "material_of", "page_of", "read_material", "write_page"]
