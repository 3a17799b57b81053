"""What an agent's runtime reports of its requests to a model provider."""
