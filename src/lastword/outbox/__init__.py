"""The outbox: reports of failures on their way to a collector, each a row before it is sent.

Owns what a report says, the file that holds those which have not arrived, and their sending. No
turn waits for any of it, nothing is loaded where nobody asked for reports, and no report holds a
word of a conversation.

Private: its names may change with any version.
"""
