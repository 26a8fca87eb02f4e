"""Connections: the listeners, frames in, dispatch to handlers, responses out, and the memory that both may take."""
