"""One module per API, named as in protocol/messages."""
