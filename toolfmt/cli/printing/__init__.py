"""Reports, comparisons, formats and findings as people and code hosts read them: text, a web page, SARIF.

The command line asks; nothing here decides, and the same data give the same bytes. Only these modules import rich. What
comes from a model is untrusted: every text of it goes through `control_characters.visible`.
"""
