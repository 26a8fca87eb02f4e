"""The views of a broker for the page, as JSON. Each is made in turns, and has a bounded number of rows."""
