"""Redaction: secrets out of text and JSON, and texts cut where no secret is halved."""
