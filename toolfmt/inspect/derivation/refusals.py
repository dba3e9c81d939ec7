"""Why nothing is derived, in words."""


class Refused(Exception):
    """Its message is one clause in plain words, without a dot at its end: a person reads it as it stands."""
