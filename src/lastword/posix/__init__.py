"""The operating system: processes, descriptors, and what names this run."""
