"""Record sets of a produce request: checked, brought to magic 2, ready to be given offsets (Kafka's LogValidator)."""
