"""Turns as OpenTelemetry spans and metrics, made from the entries of the record.

Owns names and numbers. Nothing here runs during a turn: it is called where the record is written.

Private: names may change in any version.
"""
