"""The data pipeline on Spark: log directories and brokers come in, tables, converted logs, archives and reports go out.

`reading/` turns segment files into Arrow and `writing/` turns records into segment files, both without Spark;
`sources/` makes data sources of Spark from them. The other folders are jobs, which `process.py` starts.
No broker imports it.
"""
