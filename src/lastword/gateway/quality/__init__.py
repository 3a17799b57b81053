"""The quality of a gateway's service: what is counted, where, and how it is queried."""
