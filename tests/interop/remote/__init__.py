"""Clients that come to a gateway by URL."""
