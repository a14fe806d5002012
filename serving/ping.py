"""How the launcher's questions to a model are told from clients' requests."""

PING_ID = "dragoman-ping"
"""The request id of a ping: answered like any request, but neither counted nor logged."""
