"""`lastword connect`: the client end of a gateway, which acts as an agent on stdin and stdout."""
