"""Chapter 17: code that passes. Each imports its own framework, so that a reader of one waits for no other."""


def kept_measurement(losses, patience):
    best, waited = 0, 0
    for index in range(1, len(losses)):
        if losses[index] < losses[best]:
            best, waited = index, 0
        else:
            waited = waited + 1
            if waited == patience:
                break
    return best


SOLUTIONS = {
    "17.2": kept_measurement,
    "17.6": 3,
    "17.7": 4,
    "17.8": 5,
}
