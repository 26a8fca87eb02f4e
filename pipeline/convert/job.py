"""The job `convert`: a log directory in another magic, in a directory that a broker opens."""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ...protocol.plural import plural
from ...protocol.records.layout import Codec
from ...storage.directories.log_directory import CLEAN_MARK
from ...storage.directories.meta_properties import FILE_NAME as META_PROPERTIES
from ...storage.files.checkpoint_file import CLEANER_OFFSETS, MalformedCheckpoint, format_offsets, read_offsets
from ...storage.files.file_names import segment_file_path
from ...storage.files.partition_metadata import FILE_NAME as PARTITION_METADATA
from ..console_output import print_rows, print_to_stderr
from ..failures import BadUsage, PipelineFailure
from ..job_source import Source, add_source_arguments, source_of
from ..places.place_files import PlaceFiles, normalize
from ..progress import show_progress
from ..reading.log_end import segment_end_offset
from ..reading.log_losses import find_lost_log_or_tail
from ..session import build_session, parallelize
from .manifest import read_manifest, write_manifest
from .segment_conversion import NOTE, ConversionTask, SegmentOutcome, convert_segment, read_note

_RECOMPRESS = ("none", "gzip", "snappy", "lz4")
_KEPT_FILES = (META_PROPERTIES, "log-start-offset-checkpoint")
_MAX_SMALL_FILE_BYTES = 1 << 28


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the job."""
    add_source_arguments(parser)
    parser.add_argument(
        "out", metavar="OUT", help="a path or URI, made if missing; a run that was cut off goes on there"
    )
    parser.add_argument("--magic", type=int, choices=(0, 1, 2), required=True, help="message format to write")
    parser.add_argument(
        "--recompress", choices=_RECOMPRESS, help="codec for zstd below magic 2, where clients cannot read it"
    )
    parser.add_argument("--verify", action="store_true", help="read both sides again and compare every record")


def run(arguments: argparse.Namespace) -> None:
    """Convert what is not converted yet, and print what was lost. Raises: PipelineFailure."""
    out = normalize(arguments.out)
    source = source_of(arguments, out)
    files = PlaceFiles(source.store, writable=True)
    recompress = None if arguments.recompress is None else Codec[arguments.recompress.upper()]
    if source.beside:
        raise BadUsage(f"{source.joined_directories}: one log directory is converted at a time, into one of its own")
    if files.absolute(source.path) == files.absolute(out):
        raise BadUsage(f"{out}: the output has to be another directory")
    tasks = plan_tasks(files, source, out, arguments.magic, recompress)
    made_for = f"magic {arguments.magic}, zstd to {arguments.recompress or 'nothing'}"
    done = take_up_earlier_run(files, out, made_for, tasks)
    left = [task for task in tasks if task.key not in done]
    print_to_stderr(f"{plural(len(left), 'segment')} to convert, {len(done)} are done")
    session = build_session("convert", master=arguments.master)
    size_bytes = sum(task.segment.bytes_to_read for task in left)
    with show_progress(session, "convert", segments=len(left), size_bytes=size_bytes):
        outcomes = [*done.values(), *_convert_all(session, left)]
    _write_files_beside_segments(files, source.path, out, made_for, tasks, outcomes)
    print_rows("converted", _sum_by_topic(outcomes), as_json=arguments.json)
    if arguments.verify:
        _check_records_are_equal(session, source, out, sorted({task.topic for task in tasks}), arguments.magic)


def plan_tasks(
    files: PlaceFiles, source: Source, out: str, magic: int, recompress: Codec | None
) -> list[ConversionTask]:
    """A task for each segment, the largest first; losses are warned about. Raises: BadUsage, DiskFault."""
    logs = source.find_logs(files)
    for log in logs:
        for loss in find_lost_log_or_tail(files, log):
            print_to_stderr(f"lost: {loss}")
    tasks = [
        ConversionTask(
            topic=log.topic,
            partition=log.partition,
            base_offset=segment.first_offset,
            segment=segment,
            target=f"{out}/{log.topic}-{log.partition}",
            magic=magic,
            recompress=recompress,
            store=source.store,
        )
        for log in logs
        for segment in log.segments
    ]
    return sorted(tasks, key=lambda task: -task.segment.bytes_to_read)


def take_up_earlier_run(
    files: PlaceFiles, out: str, made_for: str, tasks: Sequence[ConversionTask]
) -> dict[tuple[str, int, int], SegmentOutcome]:
    """What former runs finished, of segments that have not grown since. Raises: BadUsage when OUT is something else."""
    files.make_directory(out)
    known = read_manifest(files, out, made_for)
    mark = f"{out}/.converting"
    before = files.read_whole(mark, 1 << 12)
    if not known and before not in (None, made_for.encode()):
        raise BadUsage(f"{out} holds an unfinished conversion to {(before or b'').decode()}, not to {made_for}")
    if not known and before is None and files.entries(out):
        raise BadUsage(f"{out} is not empty, and no conversion")
    files.replace(mark, made_for.encode())
    files.remove(f"{out}/{CLEAN_MARK}")
    done = {}
    for task in tasks:
        outcome = read_note(files, task) or known.get(task.key)
        if outcome is not None and outcome.bytes_in == task.segment.bytes_to_read:
            done[task.key] = outcome
    return done


def _convert_all(session: SparkSession, tasks: Sequence[ConversionTask]) -> list[SegmentOutcome]:
    if not tasks:
        return []
    return parallelize(session, tasks).map(convert_segment).collect()


def _write_files_beside_segments(
    files: PlaceFiles,
    source: str,
    out: str,
    made_for: str,
    tasks: Sequence[ConversionTask],
    outcomes: Sequence[SegmentOutcome],
) -> None:
    """Write what a broker wants beside the segments; its mark of a clean stop comes last."""
    for name in _KEPT_FILES:
        _copy_if_present(files, f"{source}/{name}", f"{out}/{name}")
    for folder in {task.target for task in tasks}:
        name = folder.removeprefix(f"{out}/")
        _copy_if_present(files, f"{source}/{name}/{PARTITION_METADATA}", f"{folder}/{PARTITION_METADATA}")
    files.replace(f"{out}/{CLEANER_OFFSETS}", format_offsets(_cleaner_offsets(files, source, tasks, outcomes)))
    write_manifest(files, out, made_for, outcomes)
    for task in tasks:
        files.remove(segment_file_path(task.target, task.base_offset, NOTE))
    files.remove(f"{out}/.converting")
    files.replace(f"{out}/{CLEAN_MARK}", b"")


def _cleaner_offsets(
    files: PlaceFiles, source: str, tasks: Sequence[ConversionTask], outcomes: Iterable[SegmentOutcome]
) -> dict[tuple[str, int], int]:
    """The offsets below which records may be missing: those of the source, and the ends of logs that lost control
    batches, which leave holes as compaction does.
    """
    try:
        cleaned = read_offsets(files, f"{source}/{CLEANER_OFFSETS}")
    except MalformedCheckpoint:
        cleaned = {}
    thinned = {(each.topic, each.partition) for each in outcomes if each.control_batches}
    for task in tasks:
        if task.segment.is_newest and (task.topic, task.partition) in thinned:
            cleaned[task.topic, task.partition] = segment_end_offset(files, task.segment)
    return cleaned


def _copy_if_present(files: PlaceFiles, source: str, target: str) -> None:
    data = files.read_whole(source, _MAX_SMALL_FILE_BYTES)
    if data is not None:
        files.replace(target, data)


def _sum_by_topic(outcomes: Iterable[SegmentOutcome]) -> list[dict[str, object]]:
    topics: dict[str, list[SegmentOutcome]] = {}
    for outcome in outcomes:
        topics.setdefault(outcome.topic, []).append(outcome)
    return [
        {
            "topic": topic,
            "segments": len(found),
            "records": sum(each.records for each in found),
            "bytes_in": sum(each.bytes_in for each in found),
            "bytes_out": sum(each.bytes_out for each in found),
            "headers_lost": sum(each.headers for each in found),
            "producer_ids_lost": sum(each.producer_batches for each in found),
            "control_batches_lost": sum(each.control_batches for each in found),
            "timestamps_lost": sum(each.timestamps for each in found),
            "task_cpu_s": round(sum(each.cpu_s for each in found), 3),
        }
        for topic, found in sorted(topics.items())
    ]


def _check_records_are_equal(
    session: SparkSession, source: Source, out: str, topics: Sequence[str], magic: int
) -> None:
    """Read both sides and compare offset, key, value and, above magic 0, timestamp. Raises: PipelineFailure."""
    target = replace(source, path=out, tiered_path=None)
    before, after = (
        _hash_records_by_partition(session, replace(place, topics=topics), magic) for place in (source, target)
    )
    different = (
        before.exceptAll(after).unionAll(after.exceptAll(before)).select("topic", "partition").distinct().collect()
    )
    if different:
        names = ", ".join(sorted(f"{row.topic}-{row.partition}" for row in different))
        raise PipelineFailure(f"{out}: records differ from {source.path} in {names}")
    print_to_stderr("verified: offsets, keys, values" + (" and timestamps" if magic else "") + " are equal")


def _hash_records_by_partition(session: SparkSession, source: Source, magic: int) -> DataFrame:
    """Count and sum of hashes of every partition's records; null and empty hash apart."""
    reader = session.read.format("kafka-segments").options(**source.spark_options())
    columns = ["offset", "key", "value", *(["timestamp"] if magic else [])]
    rows = reader.load().select("topic", "partition", F.isnull("key"), F.isnull("value"), *columns)
    hashed = F.xxhash64(*(F.col(name) for name in rows.columns[2:])).cast("decimal(38,0)")
    return rows.groupBy("topic", "partition").agg(F.count("*").alias("records"), F.sum(hashed).alias("sum"))
