"""Passes an HTTP request on, for servers of tests that stand before a real one."""

import http.client
import http.server


def forwarded(
        handler: http.server.BaseHTTPRequestHandler, port: int, body: bytes) -> tuple[int, bytes]:
    """The status and the text with which the server on this port answers the handler's request."""
    onward = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {k: v for k, v in handler.headers.items() if k.lower() != "host"}
    onward.request(handler.command, handler.path, body or None, headers)
    answer = onward.getresponse()
    text = answer.read()
    onward.close()
    return answer.status, text
