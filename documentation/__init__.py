"""What builds the documentation site beside the pages of `docs/`: the reference, made of the code.

`hooks` is what mkdocs calls; everything else knows nothing of it. `reference.pages()` gives every generated page as
Markdown by its path in the site, `repository_links` where links that lead out of `docs/` go. Nothing of it is in the
package.
"""
