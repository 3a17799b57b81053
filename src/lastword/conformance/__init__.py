"""The hull of `pytest --pyargs lastword.conformance`; what it runs is `lastword.kit`."""
