"""What the tests of the fleet share."""
