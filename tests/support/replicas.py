"""A partition as if others replicated it."""

from stepdown.broker.metadata.partition import Partition


def replicated_up_to(partition: Partition, offset: int, *others: int) -> None:
    """As if other replicas had so much, and those with the ids `others` were in sync."""

    class Replicated(Partition):
        __slots__ = ()
        high_watermark = property(lambda self: min(offset, self.log.log_end_offset))

    partition.__class__ = Replicated
    partition.replicas = partition.isr = (partition.leader_id, *others)
