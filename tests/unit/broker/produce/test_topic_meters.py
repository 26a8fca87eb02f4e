"""The counters of a topic are looked up once and kept as long as the topic."""

from pathlib import Path

from stepdown.protocol.messages.create_topics import CreateTopicsRequest
from stepdown.protocol.messages.delete_topics import DeleteTopicsRequest
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from support.admin import new_topic
from support.client import RawClient
from support.record_sets import record_set
from support.running import running_broker


async def produce(client: RawClient) -> None:
    await client.send(CreateTopicsRequest(topics=(new_topic("t"),)), 7)
    data = PartitionProduceData(index=0, records=record_set(2))
    request = ProduceRequest(acks=-1, timeout_ms=9000, topic_data=(TopicProduceData(name="t", partition_data=(data,)),))
    answer = await client.send(request, 9)
    assert answer.responses[0].partition_responses[0].error_code == 0


async def test_a_topic_that_comes_again_is_counted_again(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        client = await RawClient.connect(broker.address.host, broker.address.port)
        await produce(client)
        await client.send(DeleteTopicsRequest(topic_names=("t",)), 1)
        await produce(client)
        assert broker.metrics.produce_partition_requests.rows() == [(("t",), 1.0)]
        assert broker.metrics.messages_in.of("t").value > 0
        await client.close()
