"""The gateway: agents' sessions that outlive whoever looks at them."""
