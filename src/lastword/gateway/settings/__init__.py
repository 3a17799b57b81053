"""The gateway's settings: each declared once, from its option to where it is used."""
