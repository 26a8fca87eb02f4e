"""TLS of a listener: makes ssl contexts of settings and files, and names of users of certificates."""
