"""What the tests of the gateway share."""
