"""What an operator may set: one table of keys, frozen settings, docs, errors."""
