"""Faults for tests: what is armed comes in, requests go wrong as it says, and what has fired goes out.

No broker has any of it unless its control is on: `stepdown.control.listen`, or a test that runs it in its own process.
"""
