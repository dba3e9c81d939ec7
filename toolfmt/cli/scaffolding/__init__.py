"""What `toolfmt dev new-format` and `toolfmt dev new-finding` write into a clone of the repository, for somebody to
fill in.

`clone.py` knows the clone and writes; `new_format.py` and `new_finding.py` say what is written. Whatever a person has
to fill in begins with `TO FILL`, which the contract tests refuse. Imported by the command line alone.
"""
