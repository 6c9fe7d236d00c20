"""The data sets: simulated DNA, proteins, sentences, houses and letters, and real digits; each with its exact optimum where one is known."""
