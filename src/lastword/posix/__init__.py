"""The operating system: processes, descriptors, and what names this run.

Private: its names may change with any version.
"""
