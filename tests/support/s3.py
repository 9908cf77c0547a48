"""A real S3 server program (moto's) on loopback, with a bucket to put directories in.

    def test_it(s3: S3Server, monkeypatch): # the fixture of tests/conftest.py
        s3.give_credentials(monkeypatch)
        s3.upload(fixture("real-44-live").directory, "backups/c1")
        metashell.open(s3.uri("backups/c1/__cluster_metadata-0"))

The server is a process of its own, which ends with the test run however that ends. It checks
signatures only while `S3Server.guarded` holds; uploads are plain HTTP and need no library.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

import pytest

from support.waiting import LIMIT_S

BUCKET: Final = "bucket"
REGION: Final = "us-east-1"
ACCESS_KEY: Final = "AKIATESTSACCESSKEY"
SECRET_KEY: Final = "s3cret-of-the-store"

_PROGRAM: Final = """
import logging, sys, threading
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

REFUSAL = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
moto = DomainDispatcherApplication(create_backend_app)
SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"
is_guarded, throttled_every, throttled = False, 0, []
requests = []
lock = threading.Lock()

def application(environ, start_response):
    global is_guarded, throttled_every
    path = environ["PATH_INFO"]
    if path == "/requests":
        start_response("200 OK", [])
        return ["\\n".join(requests).encode()]
    if path == "/throttle":
        start_response("200 OK", [])
        was, throttled[:] = len(throttled), []
        throttled_every = int(environ["QUERY_STRING"])
        return [str(was).encode()]
    with lock:
        requests.append(environ["REQUEST_METHOD"] + " " + path + "?" + environ["QUERY_STRING"])
        n = len(requests)
    if throttled_every and not n % throttled_every:
        throttled.append(n)
        status = "429 Too Many Requests" if len(throttled) % 3 == 0 else "503 Slow Down"
        start_response(status, [("Content-Type", "application/xml")])
        return [SLOW_DOWN]
    if path == "/guard":
        is_guarded = environ["REQUEST_METHOD"] == "PUT"
    elif is_guarded and "HTTP_AUTHORIZATION" not in environ and not path.startswith("/moto-api"):
        # S3 refuses who does not sign; moto breaks down.
        start_response("403 Forbidden", [("Content-Type", "application/xml")])
        return [REFUSAL]
    else:
        return moto(environ, start_response)
    start_response("200 OK", [])
    return [b""]

logging.disable(logging.CRITICAL)
server = make_server("127.0.0.1", 0, application, threaded=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.port, flush=True)
sys.stdin.read()  # Until the tests end.
"""


@dataclass(frozen=True)
class S3Server:
    """The server that runs; `BUCKET` is there."""

    port: int

    @property
    def endpoint(self) -> str:
        """Its host and port."""
        return f"127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to be let in; the rest stands in `uri`."""
        return {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def give_credentials(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Set `environment` for a test."""
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)

    def uri(self, key: str, *, bucket: str = BUCKET, **query: str) -> str:
        """The URI of a key, a prefix or a pattern; it holds no credentials of its own."""
        values = {"scheme": "http", "endpoint_override": self.endpoint, "region": REGION, **query}
        return f"s3://{bucket}/{key}?{urlencode(values)}"

    def upload(self, directory: Path, prefix: str, *, bucket: str = BUCKET) -> None:
        """Put the files below a directory under a prefix; a fixture's golden outputs are not."""
        for path in sorted(directory.rglob("*")):
            name = path.relative_to(directory)
            if path.is_file() and name.parts[0] != "golden":
                self.put(f"{prefix}/{name.as_posix()}", path.read_bytes(), bucket=bucket)

    def put(self, key: str, content: bytes, *, bucket: str = BUCKET) -> None:
        """Put one object."""
        self.request("PUT", f"/{bucket}/{quote(key)}", content)

    def requests(self) -> list[str]:
        """Every request so far: method, path and query."""
        return self.request("GET", "/requests").decode().splitlines()

    def delete(self, key: str, *, bucket: str = BUCKET) -> None:
        """Delete one object."""
        self.request("DELETE", f"/{bucket}/{quote(key)}")

    def make_bucket(self, name: str) -> None:
        """Create a bucket, or find it there."""
        self.request("PUT", f"/{name}")

    @contextlib.contextmanager
    def throttled(self, every: int) -> Iterator[None]:
        """Refuse each nth request, by 503 and 429; there must be such requests."""
        self.request("GET", f"/throttle?{every}")
        try:
            yield
        finally:
            n_refused = int(self.request("GET", "/throttle?0"))
        assert n_refused > 0

    @contextlib.contextmanager
    def guarded(self) -> Iterator[Mapping[str, str]]:
        """Let nobody in but one user, who may do anything; gives that user's environment."""
        user = {"UserName": "operator"}
        self._iam("CreateUser", user)
        policy = (
            '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}'
        )
        self._iam("PutUserPolicy", {**user, "PolicyName": "all", "PolicyDocument": policy})
        answer = ET.fromstring(self._iam("CreateAccessKey", user))
        found = {element.tag.rpartition("}")[2]: element.text or "" for element in answer.iter()}
        key, secret = found["AccessKeyId"], found["SecretAccessKey"]
        self.request("POST", "/moto-api/reset-auth", b"0")
        self.request("PUT", "/guard")
        try:
            yield {
                **self.environment,
                "AWS_ACCESS_KEY_ID": key,
                "AWS_SECRET_ACCESS_KEY": secret,
            }
        finally:
            # Far more requests than tests make may go unsigned again.
            self.request("DELETE", "/guard")
            self.request("POST", "/moto-api/reset-auth", b"1000000000")
            self._iam("DeleteAccessKey", {**user, "AccessKeyId": key})
            self._iam("DeleteUserPolicy", {**user, "PolicyName": "all"})
            self._iam("DeleteUser", user)

    def _iam(self, action: str, values: Mapping[str, str]) -> bytes:
        body = urlencode({"Action": action, "Version": "2010-05-08", **values}).encode()
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Authorization": _signed("iam"),
        }
        return self.request("POST", "/", body, headers)

    def request(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> bytes:
        """Send one request as it is; anything but success fails the test."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        try:
            # What is there already is its owner's: nobody else may change it.
            signed = {"Authorization": _signed("s3"), **(headers or {})}
            connection.request(method, path, body, signed)
            answer = connection.getresponse()
            content = answer.read()
            assert answer.status < 300, (method, path, answer.status, content[:500])
            return content
        finally:
            connection.close()


def _signed(service: str) -> str:
    """A header that names the user; the signature is checked by a guarded server alone."""
    return (
        f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/20260101/{REGION}/{service}/aws4_request, "
        "SignedHeaders=host, Signature=0"
    )


@contextlib.contextmanager
def serving() -> Iterator[S3Server]:
    """Run a server for as long as the context lasts."""
    environment = {
        **os.environ,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    }
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line.strip().isdigit(), "moto's server did not start"
            server = S3Server(int(line))
            server.make_bucket(BUCKET)
            yield server
        finally:
            process.stdin.close()
            process.kill()
