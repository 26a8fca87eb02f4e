"""Faults for tests: a test arms them, requests that match go wrong, and the control says which have fired.

No broker has any fault unless its control is on: `stepdown.control.listen`, or a test that runs it in its own process.
"""
