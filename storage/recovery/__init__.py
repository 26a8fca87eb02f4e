"""Opening a log after a clean stop or a crash: checked, cut behind the last whole batch, indexes rebuilt."""
