"""The page for people: its files, who may see it, and JSON in pages of bounded size (docs/page.md)."""
