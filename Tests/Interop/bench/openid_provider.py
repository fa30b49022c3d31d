"""A real OpenID Connect provider: Django with `django-oauth-toolkit`, on a free port of loopback.

Run as a program it is the provider itself, with one client and people who have a password.
"""

import os
import sys
from pathlib import Path

from .program import Program, accepts, free_port

CLIENT = "postern-web"


class OpenIDProvider:
    """Its host is `localhost`, another site than an authority at 127.0.0.1."""

    def __init__(self):
        self.port = free_port()
        self.issuer = f"http://localhost:{self.port}/o"
        self.program: Program | None = None

    def settings(self, name: str, secret_file: Path, *more: str) -> str:
        """The section of `authority.toml`; the provider need not run yet."""
        return "\n".join([
            f"[login.{name}]", f'issuer = "{self.issuer}"', f'audience = "{CLIENT}"',
            f'keys = "{self.issuer}/.well-known/jwks.json"', f'client_id = "{CLIENT}"',
            f'client_secret_file = "{secret_file}"', *more, ""])

    def start(self, folder: Path, redirect_uri: str, secret_file: Path, people: dict[str, str]):
        """`people` have passwords. Each start has new people and forgets who was logged in."""
        environment = {
            "PYTHONPATH": str(Path(__file__).resolve().parents[1]), "PYTHONUNBUFFERED": "1",
            "PROVIDER": "\n".join([str(self.port), str(folder), redirect_uri, str(secret_file)]),
            "PEOPLE": "\n".join(f"{name} {password}" for name, password in people.items())}
        self.program = Program(
            "provider", [sys.executable, "-m", "bench.openid_provider"], folder, environment)
        self.program.start().wait_ready(
            lambda: accepts(self.port), f"port {self.port} (OpenID provider)", 60)
        return self

    def close(self) -> None:
        if self.program:
            self.program.close()


# Django's own pages load nothing from elsewhere, and neither do these.
_BASE = "<!doctype html><title>Provider</title>{% block content %}{% endblock %}"
_LOGIN = ('{% extends "oauth2_provider/base.html" %}{% block content %}<form method="post">'
          '{% csrf_token %}{{ form.as_p }}<button type="submit">Log in there</button></form>'
          "{% endblock %}")


def _serve(port: str, folder: str, redirect_uri: str, secret_file: str) -> None:
    import django
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from django.conf import settings

    key = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption()).decode()
    settings.configure(
        SECRET_KEY=os.urandom(32).hex(), ALLOWED_HOSTS=["localhost"], ROOT_URLCONF=__name__,
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", USE_TZ=True,
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3",
                               "NAME": f"{folder}/provider-{os.getpid()}.db"}},
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes",
                        "django.contrib.sessions", "oauth2_provider"],
        MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware",
                    "django.middleware.csrf.CsrfViewMiddleware",
                    "django.contrib.auth.middleware.AuthenticationMiddleware"],
        TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "OPTIONS": {
            "context_processors": ["django.template.context_processors.request"],
            "loaders": [("django.template.loaders.locmem.Loader", {
                "oauth2_provider/base.html": _BASE, "registration/login.html": _LOGIN}),
                "django.template.loaders.app_directories.Loader"]}}],
        # Only how long a test takes depends on it.
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        OAUTH2_PROVIDER={"OIDC_ENABLED": True, "OIDC_RSA_PRIVATE_KEY": key,
                         "OIDC_ISS_ENDPOINT": f"http://localhost:{port}/o",
                         "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
                         "PKCE_REQUIRED": True, "SCOPES": {"openid": "who you are"}})
    django.setup()

    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.core.servers import basehttp
    from django.core.wsgi import get_wsgi_application
    from oauth2_provider.models import get_application_model

    call_command("migrate", verbosity=0)
    for person in os.environ["PEOPLE"].splitlines():
        name, _, password = person.partition(" ")
        get_user_model().objects.create_user(name, password=password)
    application = get_application_model()
    application.objects.create(
        name="Postern", client_id=CLIENT, client_secret=Path(secret_file).read_text(),
        client_type=application.CLIENT_CONFIDENTIAL, redirect_uris=redirect_uri,
        authorization_grant_type=application.GRANT_AUTHORIZATION_CODE,
        algorithm=application.RS256_ALGORITHM)
    basehttp.run("127.0.0.1", int(port), get_wsgi_application(), threading=True)


def _urls() -> list:
    from django.contrib.auth.views import LoginView
    from django.urls import include, path

    return [path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
            path("accounts/login/", LoginView.as_view())]


def __getattr__(name: str):
    """Django asks for its URLs when it is set up, and the tests never do."""
    if name == "urlpatterns":
        return _urls()
    raise AttributeError(name)


if __name__ == "__main__":
    _serve(*os.environ["PROVIDER"].split("\n"))
