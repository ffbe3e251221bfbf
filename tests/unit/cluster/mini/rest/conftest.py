import pytest

from tests.unit.cluster.mini.rest.api_client import ApiClient


@pytest.fixture
def client() -> ApiClient:
    return ApiClient()
