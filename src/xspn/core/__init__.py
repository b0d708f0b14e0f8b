"""What every package of the library needs: errors, log-space arithmetic, randomness, input checks."""
