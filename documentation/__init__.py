"""The builder of the documentation site, in addition to the pages of `docs/`: the reference, generated from the code.

`hooks` is what mkdocs calls; everything else is independent of it. `reference.pages()` returns every generated page as
Markdown by its path in the site, `repository_links` the targets of links that lead out of `docs/`. Nothing of it is in
the package.
"""
