"""What a command is, how a line becomes one, and what commands share.

Nothing here is a command.
"""
