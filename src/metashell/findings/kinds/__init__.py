"""A module for each family of findings; its ``KINDS`` has one declaration for each kind."""
