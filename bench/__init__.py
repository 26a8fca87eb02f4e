"""Benchmarks: servers as processes of their own, loads that are not their bottleneck, figures as ratios of one run."""
