"""The observer: what an agent's own runtime knows of its requests to a model provider.

Owns the files that Node, Bun and Python load before the agent's own code (`node.cjs`,
`python/sitecustomize.py`), how they get there and report (`pipe`), and what a report means
(`requests`). They report method, host, path, status and times, and the beginning of a refusal's
body; never a header of a request, a prompt, or a byte of an answer that went well.

Private: names may change in any version.
"""
