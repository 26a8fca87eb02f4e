"""Results as JSON lines, and the report that draws them."""
