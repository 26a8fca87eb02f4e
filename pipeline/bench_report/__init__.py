"""Benchmark runs as tables and pictures: throughput by chunk size, memory against its limit, percentiles of latency."""
