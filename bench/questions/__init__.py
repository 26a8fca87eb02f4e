"""Questions of maintainers: one script each, run as `python bench/questions/NAME.py`."""
