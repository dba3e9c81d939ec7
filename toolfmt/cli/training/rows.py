"""Write the rows of `toolfmt training` as lines of JSON or as a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from toolfmt.cli.output import STANDARD_OUTPUT, json_line, print_text
from toolfmt.cli.output_files import cannot_write, check_place, replacing
from toolfmt.errors import ToolfmtError

if TYPE_CHECKING:
    import pyarrow

_ENDINGS = (".jsonl", ".parquet")
_BATCH_SIZE = 1000
"""Rows in memory before they are written to a Parquet file."""


class Rows(Protocol):
    """Where rows are written."""

    def add(self, row: dict[str, Any]) -> None:
        """Write a row, or keep it until there are enough."""


def is_standard_output(file: str) -> bool:
    return file == "-" or file in STANDARD_OUTPUT


def check_output(file: str) -> None:
    """Raise `ToolfmtError` if rows cannot be written to a file of this name."""
    if is_standard_output(file):
        return
    if not file.endswith(_ENDINGS):
        raise ToolfmtError(f"{file}: give a name that ends with .jsonl or .parquet, or - for standard output")
    if Path(file).exists() and not Path(file).is_file() and not Path(file).is_dir():
        raise ToolfmtError(f"{file}: not a regular file; give another name, or - for standard output")
    check_place(file)
    if file.endswith(".parquet"):
        _pyarrow()


@contextmanager
def writing(file: str | None, *, tokens: bool) -> Iterator[Rows]:
    """Open the file for rows with tokens, or with text and spans. It is written as a whole or not at all.

    None discards the rows. Raises `ToolfmtError`.
    """
    if file is None:
        yield _Nowhere()
    elif is_standard_output(file):
        yield _Printed()
    else:
        with replacing(file, "rows") as written:
            if file.endswith(".jsonl"):
                yield _Lines(written)
                return
            parquet = _Parquet(file, written, tokens=tokens)
            yield parquet
            parquet.finish()


class _Nowhere:
    def add(self, row: dict[str, Any]) -> None:
        """Discard the row."""


class _Printed:
    def add(self, row: dict[str, Any]) -> None:
        print_text(json_line(row))


class _Lines:
    def __init__(self, written: BinaryIO) -> None:
        self._written = written

    def add(self, row: dict[str, Any]) -> None:
        self._written.write(json_line(row).encode("utf-8", "backslashreplace"))


class _Parquet:
    """A Parquet file. Raises `ToolfmtError` for a lone surrogate, which Parquet cannot store."""

    def __init__(self, file: str, written: BinaryIO, *, tokens: bool) -> None:
        import pyarrow.parquet

        self._file = file
        self._schema = _schema(tokens=tokens)
        self._writer = pyarrow.parquet.ParquetWriter(written, self._schema)
        self._rows: list[dict[str, Any]] = []

    def add(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        if len(self._rows) == _BATCH_SIZE:
            self._flush()

    def finish(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        import pyarrow

        try:
            self._writer.write_table(pyarrow.Table.from_pylist(self._rows, self._schema))
        except (pyarrow.ArrowException, UnicodeEncodeError) as error:
            raise cannot_write(self._file, ValueError(str(error).splitlines()[0])) from None
        self._rows.clear()


def _schema(*, tokens: bool) -> pyarrow.Schema:
    import pyarrow

    number, text = pyarrow.int64(), pyarrow.string()
    span = {"begin": number, "end": number, "message": number, "role": text, "kind": text, "closing": text}
    problem = {"message": number, "kind": text, "detail": text, "trained": pyarrow.bool_()}
    spans, problems = (pyarrow.list_(pyarrow.struct(list(of.items()))) for of in (span, problem))
    numbers, masks = pyarrow.list_(pyarrow.int32()), pyarrow.list_(pyarrow.int8())
    columns = (
        {"input_ids": numbers, "assistant_masks": masks, "labels": numbers}
        if tokens
        else {"text": text, "spans": spans}
    )
    return pyarrow.schema(list({"line": number, **columns, "problems": problems}.items()))


def _pyarrow() -> None:
    """Raise `ToolfmtError` if the package for Parquet files is missing."""
    try:
        import pyarrow.parquet  # noqa: F401 - only whether it can be imported
    except ImportError as error:
        raise ToolfmtError(f"a .parquet file needs the package pyarrow ({error}); pip install pyarrow") from None
