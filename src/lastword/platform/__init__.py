"""The operating system: processes, descriptors, and the identity of a run.

Private: its names may change in any version.
"""
