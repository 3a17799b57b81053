"""The observer: the agent's own runtime reports its requests to a model provider.

Owns the files that Node, Bun and Python load before the agent's own code (`node.cjs`,
`python/sitecustomize.py`), how they are loaded and report (`pipe`), and the meaning of a report
(`requests`). They report method, host, path, status and times, and the beginning of a refusal's
body; never a request's header, a prompt, or any byte of a successful answer.

Private: names may change in any version.
"""
