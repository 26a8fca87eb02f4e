"""Metrics, health and readiness over HTTP."""
