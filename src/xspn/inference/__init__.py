"""The questions that a circuit answers exactly."""
