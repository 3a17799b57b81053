"""The failure: its vocabulary, its words, and the shapes in which it crosses the wire."""
