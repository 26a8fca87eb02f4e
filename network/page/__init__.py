"""The web page of a broker or gateway: its files, its access rules, and its JSON in pages of bounded size
(docs/page.md).
"""
