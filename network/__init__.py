"""The serving side of connections: listeners, TLS and SASL, frames in, responses out, and the memory they take."""
