"""Turns as OpenTelemetry spans and metrics, made from the entries of the record.

Owns names and numbers. Nothing here is on a turn's path: it is called where the record is written.

Private: its names may change with any version.
"""
