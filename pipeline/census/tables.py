"""The tables of the census: what is summed up from the rows of `kafka-batches`, by topic, partition, format and day."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

COUNTED = (
    "topic string, partition int, size int, magic int, codec string, records int, control boolean,"
    " maxTimestamp timestamp,"
    " damage struct<kind: string, file: string, position: bigint, bytes: bigint, firstOffset: bigint,"
    " endOffset: bigint, reason: string>"
)
"""The columns of `kafka-batches` that are counted; the others are not made."""

_YEAR_10000_S = 253_402_300_800


def count_batches(batches: DataFrame, magic: int, batch_size: int) -> DataFrame:
    """One row a partition, magic, codec and day; everything else is summed up from these."""
    data = batches.where("damage IS NULL AND NOT control").withColumn("day", _day_of_max_timestamp())
    is_zstd = F.col("codec") == "zstd"  # refused, not converted
    down = F.when((F.col("magic") > magic) & ~is_zstd, F.col("size")).otherwise(0)
    zstd = F.when(is_zstd, F.col("size")).otherwise(0)
    return data.groupBy("topic", "partition", "magic", "codec", "day").agg(
        F.count("*").alias("batches"),
        F.sum("records").alias("records"),
        F.sum("size").alias("bytes"),
        F.sum(down).alias("converted_bytes"),
        F.sum(zstd).alias("zstd_bytes"),
        F.sum(F.col("size") / batch_size).alias("fill"),
        F.sum(F.when(F.col("records").isNull(), 1).otherwise(0)).alias("unopened"),
    )


def damage_table(batches: DataFrame) -> DataFrame:
    """What cannot be read: bytes that are no batch, offsets that are missing or in two segments."""
    fields = "kind", "firstOffset", "endOffset", "file", "position", "bytes", "reason"
    columns = [F.col(f"damage.{name}").alias(name) for name in fields]
    found = batches.where("damage IS NOT NULL").select("topic", "partition", *columns)
    return found.orderBy("topic", "partition", "firstOffset", "file", "position")


def bytes_by_magic_and_codec(counts: DataFrame) -> DataFrame:
    """By topic, magic and codec. `records` of compressed v0 and v1 batches are not known from their headers."""
    return (
        counts.groupBy("topic", "magic", "codec")
        .agg(
            F.sum("batches").alias("batches"),
            F.sum("records").alias("records"),
            F.sum("bytes").alias("bytes"),
            F.sum("unopened").alias("unopened_batches"),
        )
        .orderBy("topic", "magic", "codec")
    )


def by_topic(counts: DataFrame) -> DataFrame:
    """By topic: what is converted down, how full batches are, what old clients cannot have."""
    return (
        counts.groupBy("topic")
        .agg(
            F.sum("bytes").alias("bytes"),
            (F.sum("converted_bytes") / F.sum("bytes")).alias("converted_share"),
            (F.sum("fill") / F.sum("batches")).alias("batch_fill"),
            (F.sum("records") / (F.sum("batches") - F.sum("unopened"))).alias("records_a_batch"),
            F.sum("zstd_bytes").alias("zstd_bytes"),
        )
        .orderBy("topic")
    )


def by_magic(counts: DataFrame) -> DataFrame:
    """By topic: bytes of each magic, and bytes that old clients can read from Kafka 3.9 and not from Kafka 4.

    Kafka 4 reads every magic, but converts none down (KIP-724) and refuses the Fetch versions of old clients (KIP-896).
    """
    sizes = [
        F.sum(F.when(F.col("magic") == magic, F.col("bytes")).otherwise(0)).alias(f"magic_{magic}_bytes")
        for magic in range(3)
    ]
    refused = (F.sum("bytes") - F.sum("zstd_bytes")).alias("refused_bytes")
    return counts.groupBy("topic").agg(*sizes, refused).orderBy("topic")


def by_day(counts: DataFrame) -> DataFrame:
    """By day (UTC) of the batches' largest timestamps and topic; magic 0 has none, nor have times after 9999."""
    return (
        counts.groupBy("day", "topic")
        .agg(F.sum("batches").alias("batches"), F.sum("records").alias("records"), F.sum("bytes").alias("bytes"))
        .orderBy("day", "topic")
    )


def _day_of_max_timestamp() -> Column:
    """The day of a batch, null where it has no timestamp, or one after the years that Python has."""
    time = F.col("maxTimestamp")
    is_dated = (time >= F.lit(0).cast("timestamp")) & (time < F.lit(_YEAR_10000_S).cast("timestamp"))
    return F.when(is_dated, F.to_date(time))


def skew_by_topic(counts: DataFrame) -> DataFrame:
    """By topic: its partitions, and how far the largest is above the mean (KIP-480 compares partitioners so)."""
    partitions = counts.groupBy("topic", "partition").agg(
        F.sum("records").alias("records"), F.sum("bytes").alias("bytes")
    )
    return (
        partitions.groupBy("topic")
        .agg(
            F.count("*").alias("partitions"),
            F.max("records").alias("most_records"),
            F.avg("records").alias("mean_records"),
            (F.max("records") / F.avg("records")).alias("skew"),
        )
        .orderBy("topic")
    )
