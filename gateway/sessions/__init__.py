"""One client's connection to the gateway: `client_session.py` decides how each request is handled."""
