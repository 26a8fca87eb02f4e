"""What the page shows of a broker, as JSON: each view is made in turns, and has a bounded number of rows."""
