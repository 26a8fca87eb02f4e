"""A test's broker that asks who comes: a protocol and users come in, settings for the broker and for clients go out."""
