"""Redaction: removing secrets from text and JSON, and cutting text without halving a secret."""
