"""Chromium's virtual authenticator: it keeps passkeys, and it verifies its person."""

from browser import Browser

_PLATFORM = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True,
             "hasUserVerification": True, "isUserVerified": True,
             "automaticPresenceSimulation": True}


class VirtualAuthenticator:
    """Of one browser, which answers each question with it at once."""

    def __init__(self, browser: Browser):
        self._browser = browser
        self._cdp("WebAuthn.enable")
        self._id = self._cdp("WebAuthn.addVirtualAuthenticator",
                             options=_PLATFORM)["authenticatorId"]

    def verifies(self, is_verified: bool) -> None:
        """Without it, a request ends as if the person had cancelled it."""
        self._here("WebAuthn.setUserVerified", isUserVerified=is_verified)

    @property
    def credentials(self) -> list[dict]:
        return self._here("WebAuthn.getCredentials")["credentials"]

    def add(self, credential: dict) -> None:
        self._here("WebAuthn.addCredential", credential=credential)

    def remove(self) -> None:
        self._here("WebAuthn.removeVirtualAuthenticator")

    def _here(self, command: str, **parameters) -> dict:
        return self._cdp(command, authenticatorId=self._id, **parameters)

    def _cdp(self, command: str, **parameters) -> dict:
        return self._browser.driver.execute_cdp_cmd(command, parameters)
