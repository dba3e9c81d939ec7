"""Read the key-value pairs of a GGUF file through the `gguf` package, without its tensors.

`gguf_file.py` imports this module on first use, because the package (with numpy) is an extra. The package's own reader
creates several objects per list entry (seconds for a large vocabulary). It trusts every length in the file (an endless
loop if one is wrong), and reads the descriptions of all tensors. This module reads each list as one view, checks
lengths against the file, and skips tensors.

Layout of the file: docs/gguf.md of the ggml repository.
"""

from __future__ import annotations

import struct
from array import array
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy
from gguf import GGUFReader, GGUFValueType

if TYPE_CHECKING:
    from gguf.gguf_reader import ReaderField

MOST_TEXTS, MOST_KEYS = 4_000_000, 10_000
"""Maximum number of texts in all lists of a file, and of keys. The largest current vocabularies have about 300,000
tokens and twice as many merges, and files have about fifty keys. Files far above that are made to slow down their
reader.
"""


class Damaged(ValueError):
    """The metadata contain an impossible value."""


class Metadata(GGUFReader):
    """The metadata of a GGUF file. For a damaged file, the package raises the errors in `DAMAGE`."""

    def __init__(self, file: BinaryIO) -> None:
        self._texts = 0
        # The open file instead of a path: the package passes it to numpy, which maps either.
        super().__init__(file)  # type: ignore[arg-type]  # see above

    def value(self, key: str, longest: int) -> Any:
        """Return the value of a key: a string, number or boolean, a `Texts` or a list of numbers. None if missing.

        A string of more than `longest` bytes is returned as `Oversized`.
        """
        field = self.fields.get(key)
        if field is None:
            return None
        kinds, payload = field.types, field.parts[field.data[0]]
        if kinds[0] == GGUFValueType.STRING:
            return text_of(payload.tobytes()) if len(payload) <= longest else Oversized(len(payload))
        if kinds[0] != GGUFValueType.ARRAY:
            return payload.tolist()[0]
        return Texts(self.data.data, payload, self._order) if kinds[1] == GGUFValueType.STRING else payload

    def _get_str(self, offset: int) -> Any:
        length = self._get(offset, numpy.uint64)
        if int(length[0]) > len(self.data) - offset - 8:
            raise Damaged("a string is longer than the file")
        return length, self._get(offset + 8, numpy.uint8, length[0])

    def _build_fields(self, offs: int, count: int) -> int:
        if count > MOST_KEYS:
            raise Damaged("more keys than any model has")
        return super()._build_fields(offs, count)

    def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
        if raw_type != GGUFValueType.ARRAY:
            size, parts, indices, kinds = super()._get_field_parts(orig_offs, raw_type)
            if not len(parts[0]):
                raise Damaged("the file ends within its metadata")
            return size, parts, indices, kinds
        item = GGUFValueType(self._get(orig_offs, numpy.uint32)[0])
        count = int(self._get(orig_offs + 4, numpy.uint64)[0])
        begin = orig_offs + 12
        if item == GGUFValueType.STRING:
            end, payload = self._text_offsets(begin, count)
        elif item in self.gguf_scalar_to_np:
            end, payload = self._numbers(begin, count, self.gguf_scalar_to_np[item])
        else:
            raise Damaged("a list within a list")  # llama.cpp rejects these files, too
        return end - orig_offs, [payload], [0], [GGUFValueType.ARRAY, item]

    def _text_offsets(self, begin: int, count: int) -> tuple[int, Any]:
        """Return the offsets of a list's texts and of its end. Only the lengths are read."""
        self._texts += count
        if self._texts > MOST_TEXTS:
            raise Damaged("more texts than any tokenizer has")
        view, length_at = self.data.data, struct.Struct(f"{self._order}Q").unpack_from
        offsets = array("Q")
        for _ in range(count):
            offsets.append(begin)
            begin += 8 + length_at(view, begin)[0]
            if begin > len(view):
                raise Damaged("the file ends within a list of strings")
        return begin, offsets

    def _numbers(self, begin: int, count: int, kind: Any) -> tuple[int, Any]:
        end = begin + count * numpy.dtype(kind).itemsize
        if end > len(self.data):
            raise Damaged("the file ends within a list of numbers")
        return end, self._get(begin, kind, count)

    @property
    def _order(self) -> str:
        """The byte order of the file, as in `struct`."""
        native = "<" if numpy.little_endian else ">"
        return native if self.byte_order == "I" else {"<": ">", ">": "<"}[native]

    def _build_tensor_info(self, offs: int, count: int) -> tuple[int, list[ReaderField]]:
        return offs, []

    def _build_tensors(self, start_offs: int, fields: list[ReaderField]) -> None:
        return


class Texts:
    """A list of texts in the file. Each is decoded on access."""

    def __init__(self, view: memoryview, offsets: Any, order: str) -> None:
        self._view, self._offsets, self._length = view, offsets, struct.Struct(f"{order}Q")

    def __len__(self) -> int:
        return len(self._offsets)

    def text(self, index: int, longest: int) -> str | None:
        """Return the text with this number. None if it does not exist or has more than `longest` bytes."""
        if not 0 <= index < len(self._offsets):
            return None
        begin = self._offsets[index] + 8
        (length,) = self._length.unpack_from(self._view, begin - 8)
        return text_of(bytes(self._view[begin : begin + length])) if length <= longest else None


class Oversized:
    """A string that was not read because of its length in bytes."""

    def __init__(self, size: int) -> None:
        self.size = size


def text_of(data: bytes) -> str:
    """Return the text. Invalid UTF-8 becomes U+FFFD, as in the runtimes that print it."""
    return data.decode("utf-8", "replace")


DAMAGE = (ValueError, IndexError, KeyError, OverflowError, TypeError, struct.error)
"""The errors that the reader raises if a file is damaged or is not a GGUF file."""
