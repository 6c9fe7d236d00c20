"""What the notebooks draw: diagrams, plots, and the codes of the three tracks side by side."""
