"""The log of a session: its entries, and where they are kept."""
