"""A throw-away Kerberos realm on loopback, for tests of GSSAPI.

    with Realm(tmp_path) as realm:
        os.environ |= realm.environment
        keytab = realm.keytab("alice")          # makes the principal, too

Needs MIT's programs (`missing` says which are not there), but neither root nor the machine's own
configuration. All files lie below the directory given; the process is gone at the end.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Final

from support.fake_server import HOST
from support.programs import end
from support.waiting import LIMIT_S, wait_until

REALM: Final = "METASHELL.TEST"
_PROGRAMS: Final = ("kdb5_util", "kadmin.local", "krb5kdc", "kinit")
_PATH: Final = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"))
"""The KDC's programs lie where a user's path may not lead."""
_LOG: Final = "kdc.log"
_ATTEMPTS: Final = 5
"""Somebody else may take a port between our looking for it and the KDC's listening there."""

_KRB5_CONF: Final = """\
[libdefaults]
    default_realm = {realm}
    default_keytab_name = FILE:{directory}/none.keytab
    default_client_keytab_name = FILE:{directory}/none.keytab
    dns_canonicalize_hostname = false
    dns_lookup_kdc = false
    dns_lookup_realm = false
    rdns = false
[realms]
    {realm} = {{
        kdc = {host}:{port}
    }}
"""
_KDC_CONF: Final = """\
[kdcdefaults]
    kdc_listen = {host}:{port}
    kdc_tcp_listen = {host}:{port}
[realms]
    {realm} = {{
        database_name = {directory}/principal
        acl_file = {directory}/acl
        key_stash_file = {directory}/stash
        supported_enctypes = aes256-cts:normal
    }}
[logging]
    kdc = FILE:{directory}/{log}
"""


def missing() -> str:
    """What these tests need and is not there; empty where all is."""
    missing = [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]
    if importlib.util.find_spec("gssapi") is None:
        missing.insert(0, "the package gssapi")
    return ", ".join(missing)


_JAVA: Final = """\
import java.io.*;
import java.security.PrivilegedExceptionAction;
import java.util.*;
import javax.security.auth.Subject;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.*;
import javax.security.sasl.*;

public class Acceptor {
    public static void main(String[] args) throws Exception {
        Map<String, String> options = Map.of(
            "useKeyTab", "true", "storeKey", "true", "isInitiator", "false",
            "keyTab", args[0], "principal", args[1]);
        AppConfigurationEntry entry = new AppConfigurationEntry(
            "com.sun.security.auth.module.Krb5LoginModule",
            AppConfigurationEntry.LoginModuleControlFlag.REQUIRED, options);
        LoginContext login = new LoginContext("x", new Subject(), null, new Configuration() {
            public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
                return new AppConfigurationEntry[] {entry};
            }
        });
        login.login();
        PrivilegedExceptionAction<Void> talk = () -> {
            SaslServer server = Sasl.createSaslServer(
                "GSSAPI", "kafka", "localhost", new HashMap<String, Object>(),
                callbacks -> {
                    for (Callback callback : callbacks) {
                        ((AuthorizeCallback) callback).setAuthorized(true);
                    }
                });
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
            while (!server.isComplete()) {
                byte[] said = server.evaluateResponse(HexFormat.of().parseHex(in.readLine()));
                System.out.println(HexFormat.of().formatHex(said == null ? new byte[0] : said));
            }
            System.out.println(server.getAuthorizationID());
            return null;
        };
        Subject.doAs(login.getSubject(), talk);
    }
}
"""
"""The server's side of GSSAPI as Kafka's servers run it: lines in hexadecimal to it and from it,
and at the end who it is that came in."""


def has_jdk() -> bool:
    """Whether Java can run a source file that needs Java 17."""
    if shutil.which("javac") is None or shutil.which("java") is None:
        return False
    said = subprocess.run(["javac", "-version"], capture_output=True, text=True, check=False)
    version = re.search(r"javac (\d+)", said.stdout + said.stderr)
    return version is not None and int(version[1]) >= 17


class JavaAcceptor:
    """The JDK's own server of SASL, for one exchange; needs a JDK of 17 or newer in the path."""

    def __init__(self, realm: Realm, keytab: Path, principal: str) -> None:
        source = realm.directory / "Acceptor.java"
        source.write_text(_JAVA)
        flag = f"-Djava.security.krb5.conf={realm.environment['KRB5_CONFIG']}"
        self._process = subprocess.Popen(
            ["java", flag, str(source), str(keytab), f"{principal}@{REALM}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def said(self, data: bytes) -> bytes:
        """What the server says to a message."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{data.hex()}\n")
        return bytes.fromhex(self._line())

    def who(self) -> str:
        """Who came in; waits until the program has ended."""
        said = self._line()
        self._process.communicate(timeout=LIMIT_S)
        return said

    def stop(self) -> None:
        """End it, wherever it is."""
        end(self._process)

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self._process.communicate(timeout=LIMIT_S)[1]
        return line.strip()


class Realm:
    """A realm with its KDC, and nobody in it yet."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._kdc: subprocess.Popen[bytes] | None = None
        self.environment: dict[str, str] = {
            "KRB5_CONFIG": str(directory / "krb5.conf"),
            "KRB5_KDC_PROFILE": str(directory / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{directory / 'tickets'}",
            "KRB5RCACHENAME": "none:",
        }
        """What makes a process use this realm and none of the machine's; without a ticket."""

    def __enter__(self) -> Realm:
        """Make the realm and start its KDC."""
        self._configure(_free_port())
        self._do("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, at: TracebackType | None
    ) -> None:
        """Stop the KDC."""
        self.stop()

    def start(self) -> None:
        """Start the KDC; returns when it listens."""
        for _ in range(_ATTEMPTS):
            self._configure(_free_port())
            if self._start():
                return
        raise AssertionError(f"the KDC does not start: {self._log()}")

    def stop(self) -> None:
        """Stop the KDC; returns when it is gone."""
        if self._kdc is None:
            return
        self._kdc.terminate()
        try:
            self._kdc.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self._kdc.kill()
            self._kdc.wait()
        self._kdc = None

    def keytab(self, *principals: str) -> Path:
        """Make principals, and a file with their keys."""
        path = self.directory / f"{principals[0].replace('/', '_')}.keytab"
        asked = [f"addprinc -randkey {name}" for name in principals]
        asked.append(f"ktadd -k {path} {' '.join(principals)}")
        self._do("kadmin.local", "-r", REALM, stdin="\n".join(asked) + "\n")
        assert path.exists()
        return path

    def remove(self, principal: str) -> None:
        """Forget a principal."""
        self._do("kadmin.local", "-r", REALM, stdin=f"delprinc -force {principal}\n")

    def kinit(self, principal: str, keytab: Path, cache: Path) -> None:
        """Get a ticket."""
        self._do("kinit", "-k", "-t", str(keytab), "-c", f"FILE:{cache}", principal)

    def _configure(self, port: int) -> None:
        for name, text in (("krb5.conf", _KRB5_CONF), ("kdc.conf", _KDC_CONF)):
            content = text.format(
                realm=REALM, directory=self.directory, host=HOST, port=port, log=_LOG
            )
            (self.directory / name).write_text(content)

    def _start(self) -> bool:
        """Start the KDC; False where it could not listen."""
        (self.directory / _LOG).unlink(missing_ok=True)
        kdc = self._kdc = subprocess.Popen(
            [_program("krb5kdc"), "-n", "-r", REALM],
            env=self._env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until(lambda: kdc.poll() is not None or "commencing" in self._log(), self._log)
        except AssertionError:
            self.stop()
            raise
        return kdc.poll() is None

    def _log(self) -> str:
        path = self.directory / _LOG
        return path.read_text() if path.exists() else ""

    def _do(self, program: str, *arguments: str, stdin: str = "") -> None:
        done = subprocess.run(
            [_program(program), *arguments],
            env=self._env(),
            input=stdin,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, f"{program}: {done.stdout}"

    def _env(self) -> dict[str, str]:
        return {"PATH": _PATH, "LC_ALL": "C.UTF-8", **self.environment}


def _program(name: str) -> str:
    found = shutil.which(name, path=_PATH)
    assert found is not None, name
    return found


def _free_port() -> int:
    """A port that is free for TCP and for UDP."""
    for _ in range(100):
        with (
            socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        ):
            tcp.bind((HOST, 0))
            port: int = tcp.getsockname()[1]
            try:
                udp.bind((HOST, port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free for TCP and UDP")
