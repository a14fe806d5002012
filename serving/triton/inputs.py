"""A request's arrays as plain values, or a clear error."""

from __future__ import annotations

import numpy as np

from serving.errors import RequestError
from serving.triton.interface import Array, Request, Triton
from serving.triton.limits import MAX_CHARACTERS, MAX_TEXTS


def required_input(triton: Triton, request: Request, name: str) -> Array:
    """Return the array of an input.

    Raises:
        RequestError: the request lacks it.
    """
    tensor = triton.get_input_tensor_by_name(request, name)
    if tensor is None:
        raise RequestError(f"the input {name!r} is missing")
    return tensor.as_numpy()


def single_value(array: Array, name: str) -> int | float:
    """Return the one number that an array holds.

    Raises:
        RequestError: it holds none or several.
    """
    if array.size != 1:
        raise RequestError(f"{name} must be one value, not {array.size}")
    value = array.reshape(-1)[0]
    # Through its shortest decimal form, an FP32 0.6 is the 0.6 that the person wrote.
    return int(value) if np.issubdtype(array.dtype, np.integer) else float(str(value))


def check_some(count: int) -> None:
    """Raise RequestError where a request holds nothing."""
    if count == 0:
        raise RequestError("the request holds no text; send one text at least")


def check_count(count: int) -> None:
    """Raise RequestError unless a request may hold `count` texts."""
    check_some(count)
    if count > MAX_TEXTS:
        raise RequestError(
            f"the request holds {count:,} texts; the limit is {MAX_TEXTS:,}: send several requests"
        )


def texts_of(array: Array) -> list[str]:
    """Return the texts of an array (B,) of UTF-8 bytes.

    Raises:
        RequestError: there are no texts or too many, or one is too long or is no UTF-8.
    """
    entries = array.reshape(-1).tolist()
    check_count(len(entries))
    texts = [_text(entry, f"text {n} of {len(entries)}") for n, entry in enumerate(entries, 1)]
    characters = sum(map(len, texts))
    if characters > MAX_CHARACTERS:
        raise RequestError(
            f"the request holds {characters:,} characters; the limit is {MAX_CHARACTERS:,}: "
            "send several requests"
        )
    return texts


def _text(entry: bytes | str, which: str) -> str:
    try:
        text = entry.decode() if isinstance(entry, bytes) else entry
    except UnicodeDecodeError as error:
        raise RequestError(
            f"{which} is not valid UTF-8 at byte {error.start} (0x{error.object[error.start]:02x})"
        ) from error
    return text
