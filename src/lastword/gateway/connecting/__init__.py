"""`lastword connect`: the other end of a gateway, as an agent on stdin and stdout."""
