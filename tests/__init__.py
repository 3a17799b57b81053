"""The tests of lastword; README says how to run them."""
