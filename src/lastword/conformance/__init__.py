"""The package for `pytest --pyargs lastword.conformance`; the checks are in `lastword.kit`."""
