"""From a frame to the pieces of its response: the call, its handler, long requests in parts, the hook around it."""
