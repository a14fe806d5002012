"""The fixed shapes that plans are built for, and which of them a sentence takes.

A *length* bounds a sentence's source and its target alike. A step plan has one number of beams
and one length, for TensorRT writes only to caches of a static number of columns in place; the
number of sentences is chosen at run time among a few, each an optimisation profile of its own.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from serving.engine import Demand, Room
from serving.errors import ConfigError, check_known_keys
from serving.options import MAX_BEAM_SIZE


@dataclasses.dataclass(frozen=True)
class StepPlan:
    """One plan of the decoder step.

    Attributes:
        beams: K, rows of a sentence.
        length: most source tokens S and most target tokens of a sentence.
        sentences: the B it is built for, ascending; each a profile.
    """

    beams: int
    length: int
    sentences: tuple[int, ...]

    @property
    def columns(self) -> int:
        """L, the columns of a sentence's cache: K for each target token."""
        return self.beams * self.length

    @property
    def name(self) -> str:
        """What its files are called."""
        return f"decoder_step.{self.beams}x{self.length}"


@dataclasses.dataclass(frozen=True)
class EncoderShape:
    """One profile of the encoder's plan: B sentences of S tokens."""

    sentences: int
    length: int


ENCODER_PLAN = "encoder"
"""What the files of the encoder's plan are called."""


@dataclasses.dataclass(frozen=True)
class Shapes:
    """All shapes of one model.

    Attributes:
        encoder: ascending by length, then by sentences.
        step: ascending by beams, then by length.

    Raises:
        ConfigError: they do not fit together; the message says how.
    """

    encoder: tuple[EncoderShape, ...]
    step: tuple[StepPlan, ...]

    def __post_init__(self) -> None:
        if not self.step or not self.encoder:
            raise ConfigError("shapes need at least one step and one encoder shape")
        for plan in self.step:
            _check_plan(plan)
        keys = [(plan.beams, plan.length) for plan in self.step]
        if keys != sorted(set(keys)):
            raise ConfigError("step shapes must ascend by beams and length, each pair once")
        pairs = [(shape.length, shape.sentences) for shape in self.encoder]
        if pairs != sorted(set(pairs)) or min(min(pair) for pair in pairs) < 1:
            raise ConfigError("encoder shapes must be positive and ascend by length and sentences")
        missing = {length for _, length in keys} - {length for length, _ in pairs}
        if missing:
            raise ConfigError(f"step shapes of length {min(missing)} need an encoder shape of it")

    def route(self, demand: Demand) -> tuple[StepPlan, ...]:
        """The plans that a sentence may come to need, the first one first; none if it is too large.

        It has the fewest beams that suffice, begins at its source's length and grows from there.
        """
        longest = max(demand.source, demand.output)
        for beams in sorted({plan.beams for plan in self.step}):
            plans = [p for p in self.step if p.beams == beams and p.length >= demand.source]
            if beams >= demand.beams and plans and plans[-1].length >= longest:
                last = next(p for p in plans if p.length >= longest)
                return tuple(p for p in plans if p.length <= last.length)
        return ()

    def room(self, taken: Iterable[Sequence[StepPlan]]) -> Room:
        """The slots of boards, one a plan, beside sentences of these routes.

        A sentence stands on the shortest board that holds it and moves on as it grows, so that
        it may come to stand on every board of its route.
        """
        free = {plan: plan.sentences[-1] for plan in self.step}
        for route in taken:
            for plan in route:
                free[plan] -= 1

        def reserve(demand: Demand) -> bool:
            route = self.route(demand)
            if not route or min(free[plan] for plan in route) < 1:
                return False
            for plan in route:
                free[plan] -= 1
            return True

        return reserve

    @classmethod
    def from_json(cls, text: str, where: str) -> Shapes:
        """Read what `to_json` writes.

        Raises:
            ConfigError: it is no such text, or the shapes do not fit together.
        """
        try:
            values = json.loads(text)
            check_known_keys(values, ("encoder", "step"), where)
            encoder = tuple(_read(EncoderShape, entry, where) for entry in values["encoder"])
            step = tuple(_read(StepPlan, entry, where) for entry in values["step"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError(f"{where} holds no shapes: {error!r}") from error
        return cls(encoder, step)

    @classmethod
    def load(cls, path: Path) -> Shapes:
        """Read a file of shapes.

        Raises:
            ConfigError: it is missing or holds no shapes that fit together.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} cannot be read: {error}") from error
        return cls.from_json(text, str(path))

    def to_json(self) -> str:
        """As a file holds them."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"


def _read(kind: type[Any], entry: dict[str, Any], where: str) -> Any:
    names = [field.name for field in dataclasses.fields(kind)]
    check_known_keys(entry, names, where)
    values = {name: entry[name] for name in names}
    for name, value in values.items():
        numbers = value if isinstance(value, list) and kind is StepPlan else [value]
        if not all(type(number) is int for number in numbers):
            raise ConfigError(f"{name} in {where} must be whole numbers, not {value!r}")
    if kind is StepPlan:
        values["sentences"] = tuple(values["sentences"])
    return kind(**values)


def _check_plan(plan: StepPlan) -> None:
    sizes = plan.sentences
    if not sizes or list(sizes) != sorted(set(sizes)) or sizes[0] < 1:
        raise ConfigError(f"sentences of a step must be positive and ascend, not {list(sizes)}")
    if not 1 <= plan.beams <= MAX_BEAM_SIZE:
        raise ConfigError(f"beams of a step must be from 1 to {MAX_BEAM_SIZE}, not {plan.beams}")
    if plan.length < 1:
        raise ConfigError(f"the length of a step must be positive, not {plan.length}")


DEFAULT_SHAPES = Shapes(
    encoder=(
        EncoderShape(1, 64),
        EncoderShape(8, 64),
        EncoderShape(32, 64),
        EncoderShape(8, 256),
        EncoderShape(1, 1056),
    ),
    step=(
        StepPlan(4, 64, (1, 8, 32)),
        StepPlan(4, 256, (8, 32)),
        StepPlan(4, 1056, (4,)),
        StepPlan(8, 64, (16,)),
        StepPlan(8, 256, (16,)),
        StepPlan(8, 1056, (2,)),
    ),
)
"""Up to 128 rows, as on CPUs: 32 sentences of the default beam size.

1,056 tokens hold the longest output: 1,000 source tokens and 50 more.
"""
