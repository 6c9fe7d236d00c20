"""The components in PyTorch, a module per chapter, exported from the notebooks: change a notebook and run `make export`."""
