"""`lastword log`: the record as a list, as a timeline, and live."""
