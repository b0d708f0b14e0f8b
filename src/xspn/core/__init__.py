"""What every room of the library needs: errors, log-space arithmetic, randomness, input checks."""
