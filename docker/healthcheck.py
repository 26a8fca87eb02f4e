"""Ends with 0 when the broker in this container serves clients: asks /readyz at STEPDOWN_HTTP_LISTEN's port."""

import http.client
import os
import sys

port = int(os.environ.get("STEPDOWN_HTTP_LISTEN", ":9308").rpartition(":")[2])
try:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3)
    connection.request("GET", "/readyz")
    sys.exit(connection.getresponse().status != http.client.OK)
except OSError as fault:
    sys.exit(f"no answer at port {port}: {fault}")
