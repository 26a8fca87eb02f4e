"""TLS of a listener: settings and files enter, contexts of the standard library's ssl and users' names leave."""
