"""A model's own settings, from the `parameters` of its config.pbtxt."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from serving.errors import ConfigError, check_known_keys

BUNDLE, ROWS, TOKENS, SHARE = "bundle", "rows", "tokens", "share"
THREADS, WORKERS = "threads", "workers"
ENGINE, ENCODER_MODEL, DECODER_STEP_MODEL = "engine", "encoder", "decoder_step"
TRANSLATOR_MODEL = "translator"
FALLBACK, PLANS = "fallback", "plans"
QUEUE, DEADLINE, STALL, LOG_REQUESTS = "queue", "deadline", "stall", "log_requests"

VARIABLE = "DRAGOMAN_"
"""Begins the environment variable of a setting, DRAGOMAN_ENGINE for `engine`. It goes before the
file: one repository is served on CPUs and on GPUs, and may be mounted read-only."""

OF_ENVIRONMENT = (
    *(ENGINE, FALLBACK, PLANS, ROWS, TOKENS, SHARE, THREADS, WORKERS),
    *(QUEUE, DEADLINE, STALL, LOG_REQUESTS),
)
"""Settings that have one: those that depend on the machine, not on the model."""


def model_settings(arguments: Mapping[str, str], known: tuple[str, ...]) -> dict[str, str]:
    """Return the settings by name, of the arguments that Triton gives to `initialize`.

    Those of `OF_ENVIRONMENT` may be set by environment variables instead.

    Raises:
        ConfigError: a name is not among `known`.
    """
    parameters = json.loads(arguments["model_config"]).get("parameters", {})
    check_known_keys(parameters, known, f"config.pbtxt of {arguments['model_name']}")
    settings = {name: entry["string_value"] for name, entry in parameters.items()}
    for name in set(OF_ENVIRONMENT) & set(known):
        value = os.environ.get(VARIABLE + name.upper())
        if value:
            settings[name] = value
    return settings


def instance_gpu(arguments: Mapping[str, str]) -> int:
    """The GPU that Triton gives to this instance; the first if it is an instance on CPUs."""
    if arguments.get("model_instance_kind") != "GPU":
        return 0
    return int(arguments["model_instance_device_id"])


def bundle_path(arguments: Mapping[str, str], settings: Mapping[str, str]) -> Path:
    """Return where the model's bundle lies: the setting `bundle`, relative to the model's folder.

    Raises:
        ConfigError: the setting is missing.
    """
    if BUNDLE not in settings:
        raise ConfigError(f"config.pbtxt of {arguments['model_name']} lacks the parameter 'bundle'")
    return (Path(arguments["model_repository"]) / settings[BUNDLE]).resolve()


def positive_setting(settings: Mapping[str, str], name: str, default: int) -> int:
    """Return a setting that must be a positive number, or `default` where it is not given.

    Raises:
        ConfigError: it is something else.
    """
    value = settings.get(name)
    if value is None:
        return default
    if not value.isascii() or not value.isdigit() or int(value) < 1:
        raise ConfigError(f"{name} must be a positive number, not {value!r}")
    return int(value)


def switch_setting(settings: Mapping[str, str], name: str) -> bool:
    """Return whether a setting is on: 1 or 0, off where it is not given.

    Raises:
        ConfigError: it is something else.
    """
    return one_of(settings, name, ("0", "1")) == "1"


def one_of(settings: Mapping[str, str], name: str, known: Sequence[str]) -> str:
    """Return a setting that must be one of these, or the first where it is not given.

    Raises:
        ConfigError: it is something else; the message names the known ones.
    """
    value = settings.get(name, known[0])
    if value not in known:
        raise ConfigError(f"{name} must be one of {', '.join(known)}, not {value!r}")
    return value
