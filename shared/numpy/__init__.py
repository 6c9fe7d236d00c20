"""The components in NumPy, a module per chapter, exported from the notebooks: change a notebook and run `make export`."""
