"""What viewers may send, and what they are sent."""
