"""A fleet that is played: its nodes, its broker and its viewers, on a clock of their own."""
