"""Time and waiting: the clock, periodic tasks, worker threads, the purgatory."""
