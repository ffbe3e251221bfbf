import pytest
from tests.minicluster.rest.api_client import ApiClient


@pytest.fixture
def client() -> ApiClient:
    return ApiClient()
