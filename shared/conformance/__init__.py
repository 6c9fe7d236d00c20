"""Each law that the course's classes keep, written once: the tests, the notebooks and the exercises use it, and so can a reader."""
