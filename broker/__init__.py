"""What has a peer or a timer."""
