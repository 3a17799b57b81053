"""`lastword gateway`: its options, its start, and the words to a gateway that runs."""
