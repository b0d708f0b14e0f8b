"""Learning circuits from data: LearnSPN, LearnXSPN, and what they are made of."""
