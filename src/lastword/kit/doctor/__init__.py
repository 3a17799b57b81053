"""`lastword doctor`: whether an agent starts here, what it can do, and what clients would get.

There is one module for each question: the command, the conversation, its diagnosis, the clients,
and lastword's own surroundings. Each returns findings; none prints.
"""
