TARGETS = {}


def prepare():
    pass
