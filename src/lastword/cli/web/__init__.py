"""The timeline of a session as a page: in one file, or served from this machine to itself."""
