"""The job `bench-report`: result lines of `stepdown bench` come in, tables, pictures and one HTML page go out."""
