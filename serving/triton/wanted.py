"""What a request's answer is to hold, as one tensor from `preprocess` to `postprocess`."""

from __future__ import annotations

import dataclasses
import json

import numpy as np

from serving.errors import RequestError
from serving.triton.interface import Array

WANTED = "wanted"


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What the answer is to hold.

    Attributes:
        n_best: translations of each text.
        details: of `serving.options.DETAILS`.
        seconds: that were spent before.
    """

    n_best: int = 1
    details: tuple[str, ...] = ()
    seconds: float = 0.0

    def array(self) -> Array:
        """The tensor (1,)."""
        return np.array([json.dumps(dataclasses.asdict(self)).encode()], dtype=np.object_)

    @classmethod
    def of(cls, array: Array) -> Wanted:
        """What a tensor holds.

        Raises:
            RequestError: it is not what `array` wrote.
        """
        try:
            values = json.loads(array.reshape(-1)[0])
            return cls(int(values["n_best"]), tuple(values["details"]), float(values["seconds"]))
        except Exception as error:  # anything may be in it
            raise RequestError(f"the input {WANTED!r} cannot be read: {error!r}") from error
