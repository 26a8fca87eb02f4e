"""The job `convert`: a log directory comes in, a log directory in another magic goes out, a task a segment."""
