"""Configuration files: the user's `config.toml`, a project's `.lastword.toml`, and their command."""
