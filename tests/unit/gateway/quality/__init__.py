"""The gateway's counts, without a gateway."""
