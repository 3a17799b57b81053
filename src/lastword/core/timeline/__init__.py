"""The timeline: entries for what happened, and summaries of them."""
