"""Translations from a running server."""

from serving.client.aio import AsyncClient
from serving.client.client import Client
from serving.client.errors import ClosedError, NotReadyError, ServerError, UnreachableError
from serving.client.results import Part, Result
from serving.errors import DeadlineError, DragomanError, OverloadError, RequestError
from serving.request_options import Options

__all__ = [
    "AsyncClient",
    "Client",
    "ClosedError",
    "DeadlineError",
    "DragomanError",
    "NotReadyError",
    "Options",
    "OverloadError",
    "Part",
    "RequestError",
    "Result",
    "ServerError",
    "UnreachableError",
]
