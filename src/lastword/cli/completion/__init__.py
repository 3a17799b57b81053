"""`lastword completion`: scripts for shells and the manual page, made from the parsers."""
