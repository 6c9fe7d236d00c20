"""What the notebooks draw: `plots` and `diagrams` for all, a module for what one chapter alone draws, and the code side by side."""
