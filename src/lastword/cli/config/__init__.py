"""Configuration files: the user's own, a project's `.lastword.toml`, and their command."""
