"""The error numbers, which are Parse's, and the exception that carries one to a reply."""

NOT_FOUND = 101
BAD_CLASS_NAME = 103
BAD_KEY_NAME = 105
INVALID_JSON = 107
WRONG_TYPE = 111
TOO_LARGE = 116
FORBIDDEN = 119
QUOTA = 140
VALIDATION = 142
RATE_LIMIT = 155
SESSION_MISSING = 206
INVALID_SESSION_TOKEN = 209


class ContractError(Exception):
    """A refusal with its number; `body` is the form it has on the wire."""

    def __init__(self, code: int, text: str):
        super().__init__(f"{code}: {text}")
        self.code = code
        self.text = text

    @property
    def body(self) -> dict:
        return {"code": self.code, "error": self.text}
