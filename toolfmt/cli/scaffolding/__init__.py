"""The files that `toolfmt dev new-format` and `toolfmt dev new-finding` create in a clone of the repository.

`clone.py` finds the clone and writes; `new_format.py` and `new_finding.py` define the content. Everything that a person
must write begins with `TO FILL`, which the contract tests reject. Only the command line imports this package.
"""
