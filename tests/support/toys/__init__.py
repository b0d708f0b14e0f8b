"""One file for each kind of thing that a user may add; each registers itself when it is imported."""
