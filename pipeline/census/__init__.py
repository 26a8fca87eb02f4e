"""The job `census`: a log directory comes in, tables of its formats and of what old clients' fetches cost go out."""
