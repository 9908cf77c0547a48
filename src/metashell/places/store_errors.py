"""The errors of object stores and HDFS, told in one sentence each.

pyarrow hands on the message of a store's client library, as an `OSError` with a long text:
requests, ids, several lines. Owns the reading of those texts, and the hint for each. A secret of
the URI that a library repeats is cut out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Final

from metashell.errors import SourceError
from metashell.redact import remember_secret, without_own_secrets

_LIMIT: Final = 200
"""Characters kept of a text that nothing here knows."""

_MISSING: Final = re.compile(
    r"NO_SUCH_KEY|RESOURCE_NOT_FOUND|BlobNotFound|PathNotFound|HTTP status 404|"
    r"\[errno 2\]|Status\(NOT_FOUND(?!.*bucket does not exist)"
)

_BUCKET: Final = re.compile(
    r"NO_SUCH_BUCKET|ContainerNotFound|(bucket|container) does not exist|"
    r"The specified bucket", re.IGNORECASE
)  # fmt: skip
_BUCKET_OF_RESOLVING: Final = re.compile(r"resolving region.*(NOT_FOUND|not found|404)", re.DOTALL)
_REFUSED: Final = re.compile(
    r"INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|INVALID_CLIENT_TOKEN_ID|EXPIRED_TOKEN|"
    r"ExpiredToken|InvalidToken|AuthenticationFailed|InvalidAuthenticationInfo|UNRECOGNIZED_CLIENT|"
    r"invalid_grant"
)
_NO_CREDENTIALS: Final = re.compile(
    r"MISSING_AUTHENTICATION_TOKEN|OAuth2 access token|UNAUTHENTICATED|Failed to get token|"
    r"NoAuthenticationInformation|AuthenticationException|Unable to (load|locate) credentials|"
    r"GSSException|SaslException"
)
_DENIED: Final = re.compile(
    r"ACCESS_DENIED|AccessDenied|PERMISSION_DENIED|AuthorizationPermissionMismatch|"
    r"AuthorizationFailure|HTTP status 403|Forbidden|AccessControlException|Permission denied|"
    r"PublicAccessNotPermitted"
)
_REGION: Final = re.compile(r"PERMANENT_REDIRECT|HTTP status 301|AuthorizationHeaderMalformed")
_UNREACHABLE: Final = re.compile(
    r"NETWORK_CONNECTION|curlCode|CURL error|Status\(UNAVAILABLE|new connection|UnknownHost|"
    r"ConnectException|NoRouteToHost|SocketTimeout|REQUEST_TIMEOUT|HDFS connection failed"
)
SLOW_DOWN: Final = re.compile(
    r"SLOW_DOWN|SlowDown|THROTTLING|Throttling|HTTP status (?:429|503)|ServerBusy|"
    r"RESOURCE_EXHAUSTED|TooManyRequests|TOO_MANY_REQUESTS|SERVICE_UNAVAILABLE"
)
"""Matches the text of an error by which a store asks for fewer requests."""
_NO_JVM: Final = re.compile(r"Unable to load libjvm", re.IGNORECASE)
_NO_LIBHDFS: Final = re.compile(r"libhdfs", re.IGNORECASE)
_UNKNOWN_SCHEME: Final = re.compile(r"Unrecognized filesystem type")
_NOT_BUILT: Final = re.compile(r"compiled without|built without|not enabled", re.IGNORECASE)

_REASONS: Final = (
    re.compile(r"Details: ([^\n]+)"),
    re.compile(r"(Could not connect to server|Could not resolve host(?:name)?[^\n;{]*)"),
    re.compile(r"CURL error \[\d+\]=([^\n{]+?)(?: error_info|$)"),
    re.compile(r"(UnknownHostException|ConnectException)[^\n]*"),
)
"""Where such a text says why nobody answered."""

CREDENTIALS: Final = {
    "s3": "give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile with AWS_PROFILE;"
    " a public bucket takes `?anonymous=true` behind the URI",
    "gs": "`gcloud auth application-default login`, or name a service account's file in"
    " GOOGLE_APPLICATION_CREDENTIALS; a public bucket is gs://anonymous@BUCKET/...",
    "abfs": "`az login`, or give AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET",
    "hdfs": "`kinit` gets a ticket",
}
"""How to give credentials, by scheme."""

_ADDRESS: Final = {
    "s3": "for a store other than AWS, add `?endpoint_override=HOST:PORT` to the URI or set"
    " AWS_ENDPOINT_URL (add `scheme=http` for one without TLS)",
    "gs": "check the network, and `endpoint_override` where the URI gives one",
    "abfs": "check the account's name and the network",
    "hdfs": "check the name node's host and port, and HADOOP_CONF_DIR",
}


def is_missing(error: Exception) -> bool:
    """Whether an error says that there is no such file or directory."""
    if isinstance(error, FileNotFoundError):
        return True
    text = str(error)
    return _MISSING.search(text) is not None and _BUCKET.search(text) is None


def explain(
    error: Exception, shown: str, scheme: str, secrets: Sequence[str], *, has_credentials: bool
) -> SourceError:
    """The error that says why a store failed, and what to do.

    Args:
        error: The exception that pyarrow raised.
        shown: The place, as it may be shown.
        scheme: The scheme of its URI.
        secrets: Parts of the URI that may not be printed.
        has_credentials: Whether any were given or found; those denied without are told to.
    """
    for secret in secrets:
        remember_secret(secret)
    text = str(error)
    kind = "abfs" if scheme == "abfss" else "hdfs" if scheme == "viewfs" else scheme
    sentence, hint = _told(text, kind, has_credentials=has_credentials)
    if isinstance(error, FileNotFoundError) and sentence is None:
        sentence = "No such file or directory"
    if sentence is None:
        sentence = _essence(text) or type(error).__name__
    return SourceError(f"{shown}: {without_own_secrets(sentence)}", hint=hint)


def _told(text: str, kind: str, *, has_credentials: bool) -> tuple[str | None, str | None]:
    """(sentence, hint); no sentence where the text is not known."""
    if _UNKNOWN_SCHEME.search(text):
        hint = "s3, gs, abfs, abfss, hdfs, viewfs and file are known"
        return f"`{kind}` is not a known scheme", hint
    if _NOT_BUILT.search(text):
        return f"the installed pyarrow lacks support for {kind}", "install pyarrow from its wheel"
    if _NO_JVM.search(text):
        return "HDFS needs Java, but there is none", "set JAVA_HOME to a JDK or JRE"
    if kind == "hdfs" and _NO_LIBHDFS.search(text):
        hint = (
            "set HADOOP_HOME to an installation, ARROW_LIBHDFS_DIR to the directory of libhdfs.so"
            " and CLASSPATH to what `hadoop classpath --glob` prints"
        )
        return "HDFS needs libhdfs and Java, but they could not be loaded", hint
    if _BUCKET.search(text) or _BUCKET_OF_RESOLVING.search(text):
        what = "container" if kind == "abfs" else "bucket"
        return f"no such {what}", _ADDRESS.get(kind) if kind == "s3" else None
    if _REFUSED.search(text):
        return "the store refuses the credentials given", CREDENTIALS.get(kind)
    if _NO_CREDENTIALS.search(text):
        return "no credentials for the store", CREDENTIALS.get(kind)
    if _DENIED.search(text):
        if has_credentials:
            return "access denied", "the credentials must be allowed to list and read there"
        return "access denied, and no credentials were found", CREDENTIALS.get(kind)
    if _REGION.search(text):
        return "the bucket is in another region", "give `?region=REGION` behind the URI"
    if SLOW_DOWN.search(text):
        hint = "try again later, or with fewer at a time: a narrower pattern, fewer tasks of Spark"
        return "the store asks for fewer requests (slow down)", hint
    if _UNREACHABLE.search(text):
        found = next((m[1] for pattern in _REASONS if (m := pattern.search(text))), None)
        reason = f": {_essence(found)}" if found else ""
        return f"the store can't be reached{reason}", _ADDRESS.get(kind)
    return None, None


def _essence(text: str) -> str:
    """The beginning of a text, on one line, without request ids."""
    text = re.sub(r"\s*\(?Request ID: [^)\s]*\)?", "", text)
    text = re.sub(r"\. Detail: .*", "", text, flags=re.DOTALL)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split()).rstrip(" .")
    return text if len(text) <= _LIMIT else text[:_LIMIT].rstrip() + " ..."


def has_s3_credentials() -> bool:
    """Whether the surroundings give any, as far as that can be told without asking a server."""
    names = (
        "AWS_ACCESS_KEY_ID",
        "AWS_PROFILE",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    )
    file = os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or os.path.expanduser("~/.aws/credentials")
    return any(os.environ.get(name) for name in names) or os.path.isfile(file)
