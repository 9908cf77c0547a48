"""The state of coordinators: what the records of their logs leave behind, by columns."""
