"""`lastword connect`'s parts, without a connection."""
