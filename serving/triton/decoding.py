"""How a request's sentences are to be decoded, as one tensor from `preprocess` to `translator`."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np

from serving.errors import RequestError, check_known_keys
from serving.options import DecodingOptions
from serving.triton.interface import Array, Request, Triton

DECODING = "decoding"


@dataclasses.dataclass(frozen=True)
class Decoding:
    """What the search is told of a request.

    Attributes:
        options: of all its sentences.
        prefixes: ids that the translation of a sentence begins with, by its place.
        align: whether attention between source and translation is wanted.
    """

    options: DecodingOptions = dataclasses.field(default_factory=DecodingOptions)
    prefixes: dict[int, tuple[int, ...]] = dataclasses.field(default_factory=dict)
    align: bool = False

    @classmethod
    def of(cls, triton: Triton, request: Request) -> Decoding:
        """Read what a request says, else the defaults.

        Raises:
            RequestError: it is not what `array` writes.
        """
        tensor = triton.get_input_tensor_by_name(request, DECODING)
        if tensor is None:
            return cls()
        try:
            values: dict[str, Any] = json.loads(tensor.as_numpy().reshape(-1)[0])
            check_known_keys(values, [field.name for field in dataclasses.fields(cls)], DECODING)
            options = values.get("options", {})
            options["suppress"] = tuple(map(tuple, options.get("suppress", ())))
            prefixes = {int(k): tuple(map(int, v)) for k, v in values.get("prefixes", {}).items()}
            align = bool(values.get("align", False))
            return cls(DecodingOptions.from_mapping(options), prefixes, align)
        except RequestError:
            raise
        except Exception as error:  # anything may be in it
            raise RequestError(f"the input {DECODING!r} cannot be read: {error}") from error

    def array(self) -> Array:
        """The tensor (1,) that says all but the defaults."""
        fresh = dataclasses.asdict(DecodingOptions())
        chosen = dataclasses.asdict(self.options)
        values: dict[str, Any] = {
            "options": {name: value for name, value in chosen.items() if value != fresh[name]}
        }
        if self.prefixes:
            values["prefixes"] = self.prefixes
        if self.align:
            values["align"] = True
        return np.array([json.dumps(values).encode()], dtype=np.object_)
