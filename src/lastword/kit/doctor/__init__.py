"""`lastword doctor`: can this agent start here, what can it do, and what would a client get?

One module a question: the command, the conversation, what came of it, the clients, our own
surroundings. Each gives findings; nothing here prints.
"""
