"""The web pages, without a browser."""
