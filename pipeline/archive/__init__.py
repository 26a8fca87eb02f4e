"""The job `archive`: records of a log directory or a broker come in, a Parquet or Delta table that is kept goes out.

From a log directory `log_archive.py` writes what is new since the last run, a batch at a time: `state.py` remembers it
beside the table, `parquet_files.py` writes the files on the workers, `delta_table.py` commits them. From a broker
`broker_archive.py` streams by Spark's Kafka connector. `compact_job.py` joins small files.
"""
