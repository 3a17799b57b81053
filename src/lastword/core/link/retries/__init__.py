"""Retries: failed model calls while a turn goes on, and how its client learns of them."""
