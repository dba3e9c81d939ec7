"""Why no format can be derived."""


class NotDerivable(Exception):
    """The message is a clause in plain English without a final period.

    `near` is how closely the calls match the syntax that rejected them: of several reasons the nearest is reported.
    """

    def __init__(self, why: str, near: int = 0) -> None:
        super().__init__(why)
        self.near = near
