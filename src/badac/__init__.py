"""badac."""
