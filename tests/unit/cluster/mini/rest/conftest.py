import pytest

from tests.unit.cluster.mini.rest.asking import Asker


@pytest.fixture
def asker() -> Asker:
    return Asker()
