"""Print reports, comparisons, formats and findings for people and code hosts: text, a web page, SARIF.

The command line uses it. The same data give the same bytes. Only these modules import rich. Text from a model is
untrusted, so all of it goes through `control_characters.visible`.
"""
