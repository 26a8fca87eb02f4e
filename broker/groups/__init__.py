"""Consumer groups: membership, assignment, committed offsets."""
