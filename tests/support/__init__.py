"""What several test files need: random circuits, brute-force enumeration, the chi-square test."""
