"""The receivers of alerts: an HTTP server for webhook and ntfy, and an SMTP server with TLS."""

import email
import email.policy
import http.server
import socketserver
import ssl
import threading


class AlertReceiver:
    """Keeps each request. The next one to `/hook` that has `refuse` in its body gets 500."""

    def __init__(self):
        self.requests: list[tuple[str, dict, bytes]] = []
        self.refuse = b""
        self.lock = threading.Lock()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                with receiver.lock:
                    receiver.requests.append((self.path, headers, body))
                    refused = (self.path == "/hook" and receiver.refuse != b""
                               and receiver.refuse in body)
                    if refused:
                        receiver.refuse = b""
                self.send_response(500 if refused else 204)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def of(self, path: str) -> list[tuple[dict, bytes]]:
        with self.lock:
            return [(headers, body) for at, headers, body in self.requests if at == path]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class MailServer:
    """SMTP over TLS from the first byte, or from STARTTLS on. Keeps each mail, and each command."""

    def __init__(self, certificate, key, *, starttls: bool = False, offers: bool = True):
        self.mails: list[email.message.EmailMessage] = []
        self.commands: list[str] = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                sock = self.request
                if not starttls:
                    sock = context.wrap_socket(sock, server_side=True)
                server._talk(sock, context if starttls and offers else None)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

            def handle_error(self, *_):
                """A client that ends a handshake is no fault of this server."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def _talk(self, sock, context) -> None:
        file = sock.makefile("rwb")

        def say(line: str) -> None:
            file.write(line.encode() + b"\r\n")
            file.flush()

        say("220 mail.example")
        while line := file.readline():
            command = line.decode().strip()
            self.commands.append(command)
            word = command.split(" ")[0].upper()
            if word == "EHLO":
                say("250-mail.example")
                if context:
                    say("250-STARTTLS")
                say("250 AUTH PLAIN")
            elif word == "STARTTLS" and context:
                say("220 go on")
                sock, context = context.wrap_socket(sock, server_side=True), None
                file = sock.makefile("rwb")
            elif word == "AUTH":
                if command.count(" ") == 1:
                    say("334 ")
                    self.commands.append(file.readline().decode().strip())
                say("235 welcome")
            elif word == "DATA":
                say("354 go on")
                lines = []
                while (line := file.readline()) not in (b".\r\n", b""):
                    lines.append(line)
                self.mails.append(email.message_from_bytes(
                    b"".join(lines), policy=email.policy.default))
                say("250 taken")
            elif word == "QUIT":
                say("221 bye")
                break
            else:
                say("250 ok" if word in ("MAIL", "RCPT", "NOOP", "RSET") else "502 no")
        sock.close()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
