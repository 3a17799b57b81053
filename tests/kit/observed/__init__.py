"""A model provider on loopback, and the observer of Python's requests in front of it.

In plain Python since 3.9: agents of any version import it, beside what they are tested with.
"""
