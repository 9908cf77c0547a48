"""Declarations of the parts that a broker's coordinators keep, a module each, found by its name."""
