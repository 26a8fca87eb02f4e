"""The job `convert`: a log directory written anew in another magic, a task a segment, through the broker's kernel."""
