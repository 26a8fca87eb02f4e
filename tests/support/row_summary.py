"""What rows a place has, a line of JSON a partition: `python row_summary.py MASTER PLACE`.

`pipeline_on_cluster` runs it as a driver: number of rows, first and last offset, and a hash over offset, timestamp, key
and value of all rows, which does not depend on their order. The last line has the seconds that the query took.
"""

import json
import sys
import time

from pyspark.sql import functions as F
from stepdown.pipeline.session import build_session


def main() -> None:
    master, place = sys.argv[1:]
    spark = build_session("rows", master=master)
    began = time.perf_counter()
    rows = spark.read.format("kafka-segments").load(place)
    found = (
        rows.groupBy("topic", "partition")
        .agg(
            F.count("*").alias("rows"),
            F.min("offset").alias("first"),
            F.max("offset").alias("last"),
            F.expr("bit_xor(xxhash64(offset, timestamp, key, value))").alias("hash"),
        )
        .orderBy("topic", "partition")
        .collect()
    )
    for row in found:
        print(json.dumps(row.asDict()))
    print(json.dumps({"seconds": time.perf_counter() - began}))


if __name__ == "__main__":
    main()
