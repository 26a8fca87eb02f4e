"""How a client proves who it is and checks who answers: settings, TLS contexts, logins."""
