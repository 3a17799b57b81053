"""A fleet over real NATS servers, which are built from their Go module."""
