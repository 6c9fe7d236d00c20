"""The parts of `shared.data.dna`: letters and tokens, processes, scores and files."""
