"""Security settings, TLS contexts and logins of clients."""
