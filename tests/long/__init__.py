"""Programs that take long; `tests.process` has a short run of each."""
