"""A lease that cannot be acquired: the candidate logs why, and once."""

import asyncio

import pytest

from reprieve.cluster.kube.lease import Election, LeaseTerms
from reprieve_minicluster.virtual_time import clock, run
from tests.contract.http import living_cluster


def test_a_lease_in_a_namespace_that_is_not_there(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with living_cluster(clock) as operator:
            terms = LeaseTerms("nowhere", "reprieve", "one")
            winning = asyncio.create_task(Election(operator.connection, terms, clock).win())
            await asyncio.sleep(60)
            assert not winning.done()
            (told,) = (record.getMessage() for record in caplog.records if record.levelname == "WARNING")
            assert told == 'lease nowhere/reprieve cannot be acquired: namespaces "nowhere" not found'
            await operator.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "nowhere"}})
            await asyncio.wait_for(winning, 5)

    run(main())
