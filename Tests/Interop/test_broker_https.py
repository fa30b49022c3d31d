"""RabbitMQ's plugin asks over HTTPS: with `rabbitmq-advanced.config` it knows whom it asks.

The plugin itself is run, without a broker around it, against a server that says yes to all.
"""

import http.server
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

from bench.certificates import Authority
from bench.rabbitmq import missing

pytestmark = pytest.mark.slow

SHIPPED = Path(__file__).resolve().parents[2] / "Provisioning/broker/rabbitmq-advanced.config"
PLACE = "/etc/rabbitmq/authority-ca.pem"
PLUGINS = Path("/usr/lib/rabbitmq/lib")

ASK = """
{ok, _} = application:ensure_all_started(inets),
{ok, _} = application:ensure_all_started(ssl),
{ok, [Told]} = file:consult("%(config)s"),
[application:set_env(A, K, V) || {A, Settings} <- Told, {K, V} <- Settings],
Plugin = rabbitmq_auth_backend_http,
application:set_env(Plugin, http_method, post),
application:set_env(Plugin, user_path, "https://localhost:%(port)d/user"),
Answer = rabbit_auth_backend_http:user_login_authentication(<<"u">>, [{password, <<"p">>}]),
io:format("~nanswer ~p~n", [element(1, Answer)]), halt().
"""


class Yes(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.heard.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"allow")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Two authorities, one of which has somebody else's name, and what RabbitMQ may trust."""
    if missing():
        pytest.skip(f"{missing()} is not there")
    folder = tmp_path_factory.mktemp("https")
    ours, another = Authority(folder, "ours"), Authority(folder, "another")
    servers = {}
    for name, host in (("right", "localhost"), ("stranger", "elsewhere.example")):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Yes)
        server.heard = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*ours.issue(name, host))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers[name] = server
    configs = {"none": folder / "none.config"}
    configs["none"].write_text("[].\n")
    for name, authority in (("ours", ours), ("another", another)):
        configs[name] = folder / f"{name}.config"
        configs[name].write_text(SHIPPED.read_text().replace(PLACE, str(authority.file)))
    yield servers, configs
    for server in servers.values():
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("server,config,answer", [
    ("right", "ours", "ok"),
    ("stranger", "ours", "error"),
    ("right", "another", "error"),
    # As it comes, it tells the password to whoever answers.
    ("stranger", "none", "ok"),
])
def test_who_is_asked(places, server, config, answer):
    servers, configs = places
    asked = servers[server]
    asked.heard.clear()
    paths = [word for path in sorted(PLUGINS.glob("rabbitmq_server-*/plugins/*/ebin"))
             for word in ("-pa", str(path))]
    done = subprocess.run(
        ["erl", "-noshell", *paths, "-eval",
         ASK % {"config": configs[config], "port": asked.server_port}],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, check=False)
    assert f"answer {answer}" in done.stdout, done.stdout + done.stderr
    assert bool(asked.heard) == (answer == "ok")
