"""The timeline of a session as a web page: in one file, or served on this machine."""
