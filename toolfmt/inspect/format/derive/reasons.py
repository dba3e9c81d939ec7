"""Why nothing is derived, in words."""


class Refused(Exception):
    """Its message is one clause in plain words, without a dot at its end: a person reads it as it stands.

    `near` tells how near the calls came to the notation that refused them: of several refusals the nearest is told.
    """

    def __init__(self, why: str, near: int = 0) -> None:
        super().__init__(why)
        self.near = near
