"""The command ``grep`` and all that only it needs."""
