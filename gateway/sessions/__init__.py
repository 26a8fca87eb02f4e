"""One client's connection to the gateway: `client_session.py` decides what becomes of each request."""
