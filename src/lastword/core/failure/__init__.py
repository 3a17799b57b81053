"""Failures: the vocabulary, the wording, and the shapes that they take on the wire."""
