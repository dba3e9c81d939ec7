"""`python -m toolfmt`: the command line, where the script `toolfmt` is not on the path."""

from __future__ import annotations

from toolfmt.cli.commands import main

if __name__ == "__main__":
    main(prog_name="toolfmt")
