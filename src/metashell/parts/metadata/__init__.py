"""A module for each part of the image: its name is the part's, and it holds one ``PART``."""
