"""Turns beside which something other than their model call fails, and what may come of each.

Most are honest: nothing failed at the provider, and yet the words of a failure stand on stderr, in
a log or in the answer. In the others something did fail, beside words that are not about it.
"""
