"""The record for people and tools: text, JSON, and a bundle for a bug report."""
