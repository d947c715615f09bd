"""A server for the tests of this folder."""

from serving_fixtures import serve, start_serving  # noqa: F401
