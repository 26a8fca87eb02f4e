"""How long reads of a log directory take, as a line of JSON: `python pipeline_times.py LOG_DIR ROUNDS`.

`pipeline_costs` runs it with the Python of each checkout that it compares, so it imports no more than a session.
"""

import json
import sys
import time

from stepdown.pipeline.session import build_session


def main() -> None:
    path, rounds = sys.argv[1:]
    spark = build_session("benchmark", master="local[2]")
    records = spark.read.format("kafka-segments")
    reads = {
        "rows": records.load(path),
        "metadata": records.schema("partition int, offset bigint, timestamp timestamp").load(path),
        "batches": spark.read.format("kafka-batches").load(path),
    }
    taken: dict[str, list[float]] = {name: [] for name in reads}
    for number in range(int(rounds) + 1):
        for name, frame in reads.items():
            began = time.perf_counter()
            frame.write.format("noop").mode("overwrite").save()
            if number:  # the first loads and compiles
                taken[name].append(time.perf_counter() - began)
    print(json.dumps(taken))


if __name__ == "__main__":
    main()
