"""The scripted agent: scenarios of failure, and the program that plays them."""
