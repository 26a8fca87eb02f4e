"""What is known of a broker before Spark's connector is asked: whether it can be reached."""

import socket

import pytest
from stepdown.pipeline.failures import BadUsage, PipelineFailure
from stepdown.pipeline.kafka_connector import check_one_address_listens


def test_an_address_where_nobody_listens_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        check_one_address_listens(address)
    with pytest.raises(PipelineFailure, match=f"no broker listens at {address}: Connection refused"):
        check_one_address_listens(address)


@pytest.mark.parametrize("address", ["localhost", ":9092", "localhost:http"])
def test_what_is_no_address_is_bad_usage(address: str) -> None:
    with pytest.raises(BadUsage, match="HOST:PORT"):
        check_one_address_listens(address)
