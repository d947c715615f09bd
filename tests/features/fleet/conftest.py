"""What the tests of the fleet share: a database with its tables, and what a worker needs."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from fleet_support import Within
from kith.features.fleet.database import Fleet, make_schema, open_fleet
from postgres import Postgres
from serving_fixtures import serve, start_serving  # noqa: F401


@pytest.fixture(scope="session")
def fleet_template(postgres: Postgres) -> str:
    """A database with the fleet's tables, from which others are copied."""
    postgres.sql("CREATE DATABASE fleet_template")

    async def make() -> None:
        async with open_fleet(postgres.address("fleet_template"), check=False) as fleet:
            await make_schema(fleet)

    asyncio.run(make())
    return "fleet_template"


@pytest.fixture
def dsn(postgres: Postgres, fleet_template: str) -> str:
    """The address of a fleet's database of this test alone."""
    return postgres.new_database(fleet_template)


@pytest.fixture
def within(dsn: str) -> Within:
    """Does something with the fleet's database."""

    def run(work: Callable[[Fleet], Coroutine[Any, Any, Any]]) -> Any:
        async def opened() -> Any:
            async with open_fleet(dsn, connections=4) as fleet:
                return await work(fleet)

        return asyncio.run(opened())

    return run
