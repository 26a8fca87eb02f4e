"""The reference run and the bars that it is held against."""
