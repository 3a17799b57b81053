"""The contract: its schema, its requirements, its vectors, and what it promises whatever comes."""
