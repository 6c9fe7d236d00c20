"""What lets the three frameworks meet: one layout of weights, files that each can read, proofs of equality, and times that can be compared."""
