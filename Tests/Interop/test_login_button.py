"""The page's button for a real OpenID Connect provider, and what an attacker would try with it."""

import html
import re
import secrets
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
import requests

from bench.authority_bench import AuthorityBench
from bench.openid_provider import CLIENT, OpenIDProvider

PEOPLE = {"anna": secrets.token_urlsafe(12), "mallory": secrets.token_urlsafe(12)}


@pytest.fixture(scope="module")
def place(tmp_path_factory, evidence, programs):
    """An authority with a button for a provider, and that provider."""
    folder = tmp_path_factory.mktemp("button")
    secret_file = folder / "client-secret"
    secret_file.touch(0o600)
    secret_file.write_text(secrets.token_urlsafe(24))
    evidence.add_secret("the client secret", secret_file.read_text())
    provider = OpenIDProvider()
    (folder / "authority").mkdir()
    bench = AuthorityBench(
        folder / "authority", evidence, programs,
        provider.settings("corp", secret_file, 'title = "The Company"', "sign_up = true"))
    bench.provider, bench.secret_file = provider, secret_file
    try:
        start = button(bench)
        provider.start(folder, start + "/callback", secret_file, PEOPLE)
        yield bench
    finally:
        provider.close()
        bench.close()


def button(bench) -> str:
    info = requests.get(f"http://127.0.0.1:{bench.http_port}/postern/v1/info", timeout=30).json()
    (one,) = info["login"]["providers"]
    assert (one["name"], one["title"]) == ("corp", "The Company")
    return one["url"]


class Person:
    """A browser and who sits there. The provider is another site, with cookies of its own."""

    def __init__(self, bench, name: str):
        self.bench, self.name = bench, name
        self.browser = requests.Session()
        self.asked = 0

    def begin(self, query: str = "") -> str:
        """Clicks the button; the address of the provider that it leads to."""
        answer = self.browser.get(button(self.bench) + query, allow_redirects=False, timeout=30)
        assert answer.status_code == 303, answer.text
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Max-Age=600" in cookie
        return answer.headers["Location"]

    def there(self, address: str, does: str = "allow") -> str:
        """Logs in at the provider where it asks, and answers; the address that leads back."""
        page = self.browser.get(address, timeout=30)
        if "/accounts/login/" in page.url:
            self.asked += 1
            page = self.send(page, username=self.name, password=PEOPLE[self.name])
            page = self.browser.get(
                urljoin(page.url, page.headers["Location"]), timeout=30)
        page = self.send(page, **({"allow": "Authorize"} if does == "allow" else {}))
        assert page.status_code == 302, page.text
        return page.headers["Location"]

    def send(self, page, **values):
        """Sends the form of a page with what is hidden in it."""
        for tag in re.findall(r"<input[^>]*type=\"hidden\"[^>]*>", page.text):
            name = re.search(r'name="([^"]*)"', tag)
            value = re.search(r'value="([^"]*)"', tag)
            values[name[1]] = html.unescape(value[1]) if value else ""
        return self.browser.post(page.url, values, headers={"Referer": page.url},
                                 allow_redirects=False, timeout=30)

    def arrive(self, address: str) -> str:
        """Follows the provider's redirect; how the login went."""
        answer = self.browser.get(address, allow_redirects=False, timeout=30)
        assert answer.status_code == 303, answer.text
        public = f"http://127.0.0.1:{self.bench.http_port}/#login="
        assert answer.headers["Location"].startswith(public)
        for cookie in self.browser.cookies:
            if cookie.name == "postern_session":
                self.bench.evidence.add_secret("a session's token", cookie.value)
        return answer.headers["Location"].removeprefix(public)

    def log_in(self, query: str = "", does: str = "allow") -> str:
        return self.arrive(self.there(self.begin(query), does))

    def ask(self, method: str, path: str, body=None) -> dict:
        """As the page does, with the cookie."""
        return self.browser.request(
            method, f"http://127.0.0.1:{self.bench.http_port}/postern/v1{path}", json=body,
            headers={"X-Parse-Application-Id": "postern", "X-Postern-Console": "1"},
            timeout=30).json()


def query(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def test_a_person_logs_in_and_is_the_same_user_again(place):
    anna = Person(place, "anna")
    address = anna.begin()
    assert address.startswith(place.provider.issuer + "/authorize/?")
    sent = query(address)
    assert (sent["client_id"], sent["code_challenge_method"]) == (CLIENT, "S256")
    back = anna.there(address)
    # The provider names itself. Source: RFC 9207.
    assert query(back)["iss"] == place.provider.issuer
    assert anna.arrive(back) == "done"
    me = anna.ask("GET", "/me")
    assert me["session"]["createdWith"] == {"action": "signup", "authProvider": "corp"}
    assert anna.ask("GET", "/passkeys")["providers"] == ["corp"]
    # She was just asked there, so she is confirmed here.
    code = anna.ask("POST", f"/users/{me['user']['username']}/recovery-code")["recoveryCode"]
    place.evidence.add_secret("a recovery code", code)
    anna.ask("POST", "/console/logout")

    assert anna.log_in() == "done"
    assert anna.asked == 1
    again = anna.ask("GET", "/me")
    assert again["user"]["objectId"] == me["user"]["objectId"]
    assert again["session"]["createdWith"] == {"action": "login", "authProvider": "corp"}
    # `again` has the provider ask who is there.
    assert anna.log_in("?again=true") == "done"
    assert anna.asked == 2


def test_who_says_no_there_is_not_logged_in(place):
    anna = Person(place, "anna")
    assert anna.log_in(does="cancel") == "denied"
    assert "postern_session" not in anna.browser.cookies
    assert anna.log_in() == "done"


def test_an_answer_serves_one_browser_once(place):
    anna, mallory = Person(place, "anna"), Person(place, "mallory")
    anna.begin()
    hers = mallory.there(mallory.begin())
    # Mallory's answer in Anna's browser would log her in as Mallory.
    assert anna.arrive(hers) == "visit"
    assert Person(place, "anna").arrive(hers) == "visit"
    visit = mallory.browser.cookies["postern_provider"]
    assert mallory.arrive(hers) == "done"
    mallory.browser.cookies.set("postern_provider", visit, domain="127.0.0.1", path="/")
    assert mallory.arrive(hers) == "visit"


def test_a_code_of_another_visit_is_refused_by_the_provider(place):
    """A code that was stolen on its way, put into the thief's own visit: PKCE."""
    anna, mallory = Person(place, "anna"), Person(place, "mallory")
    stolen = query(anna.there(anna.begin()))["code"]
    own = mallory.there(mallory.begin())
    assert mallory.arrive(own.replace(query(own)["code"], stolen)) == "code"
    assert "status 400, invalid_grant" in place.server.log
    assert "postern_session" not in mallory.browser.cookies


def test_another_site_begins_no_login(place):
    answer = requests.get(button(place), headers={"Sec-Fetch-Site": "cross-site"},
                          allow_redirects=False, timeout=30)
    assert answer.status_code == 303 and "Set-Cookie" not in answer.headers
    assert answer.headers["Location"] == f"http://127.0.0.1:{place.http_port}/"


def test_another_provider_in_iss_is_refused(place):
    anna = Person(place, "anna")
    back = anna.there(anna.begin())
    assert anna.arrive(back.replace("iss=http", "iss=https")) == "issuer"
    assert anna.log_in() == "done"


def test_a_client_secret_can_be_changed(place):
    anna = Person(place, "anna")
    secret = place.secret_file.read_text()
    place.secret_file.write_text("wrong")
    try:
        assert anna.log_in() == "code"
    finally:
        place.secret_file.write_text(secret)
    assert "status 401, invalid_client" in place.server.log
    assert anna.log_in() == "done"


def test_a_provider_that_is_away_is_named(place):
    anna = Person(place, "anna")
    back = anna.there(anna.begin())
    place.provider.program.stop()
    assert anna.arrive(back) == "away"
    assert "token endpoint of corp: TCP: " in place.server.log


def test_no_secret_is_kept_or_logged(place):
    done = place.cli("audit", "--json")
    assert done.returncode == 0 and "access was denied there" in done.stdout
    assert place.evidence.search() == []
