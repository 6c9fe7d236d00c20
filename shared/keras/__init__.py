"""The components in Keras, a module per chapter, exported from the notebooks: change a notebook and run `make export`."""
