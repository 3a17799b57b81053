"""The record for people and tools: words, JSON, and a bundle for a bug report."""
