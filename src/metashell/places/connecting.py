"""Connections to stores by pyarrow.fs, one a store and process, made when first needed."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from metashell.errors import SourceError
from metashell.places.patience import patiently
from metashell.places.uri import Uri, unquoted

if TYPE_CHECKING:
    from metashell.places.remote import Store

_CONNECT_S: Final = 3.0
_REQUEST_S: Final = 10.0
_RETRIES: Final = 2
"""At once, of what a network loses; a store that refuses is left to `patience`."""
_GS_RETRY_S: Final = 10

_IGNORED: Final = frozenset(
    {"allow_bucket_creation", "allow_bucket_deletion", "allow_delayed_open", "background_writes"}
)
"""Settings of an S3 URI that are about writing."""


@lru_cache(maxsize=64)
def connected(store: Store, _process: int) -> tuple[Any, str]:
    """(file system, what its paths begin with); of this process, as connections survive no fork."""
    from pyarrow.fs import FileSystem

    uri = store.uri
    if uri.scheme == "s3":
        if not uri.host or any(c in uri.host for c in "*?[{"):
            raise SourceError(
                f"{uri.shown}: needs a bucket", hint="a URI is s3://BUCKET/PATH"
            )  # fmt: skip
        return _s3(uri), f"{uri.host}/"
    if uri.scheme == "gs" and "retry_limit_seconds" not in uri.settings:
        # The library's own limit is a quarter of an hour.
        query = f"{uri.query}&" if uri.query else ""
        uri = replace(uri, query=f"{query}retry_limit_seconds={_GS_RETRY_S}")
    fs, base = FileSystem.from_uri(uri.text(""))
    return fs, base if not base or base.endswith("/") else f"{base}/"


def _s3(uri: Uri) -> Any:
    """A connection to S3 that gives up in bounded time.

    It takes the settings of pyarrow's URIs, and the credentials and limits of pyarrow's class.
    AWS_ENDPOINT_URL and the AWS configuration fill in the rest.
    """
    from pyarrow.fs import AwsDefaultS3RetryStrategy, S3FileSystem, resolve_s3_region

    settings = {key: value for key, value in uri.settings.items() if key not in _IGNORED}
    values: dict[str, Any] = {"connect_timeout": _CONNECT_S, "request_timeout": _REQUEST_S}
    for key in ("connect_timeout", "request_timeout"):
        if key in settings:
            values[key] = _seconds(uri, key, settings.pop(key))
    for key in ("anonymous", "force_virtual_addressing"):
        if key in settings:
            values[key] = settings.pop(key).lower() in ("true", "1", "yes")
    for key in (
        "access_key", "secret_key", "session_token", "region", "scheme", "endpoint_override",
        "role_arn", "session_name", "external_id", "tls_ca_file_path",
    ):  # fmt: skip
        if settings.get(key):
            values[key] = settings.pop(key)
    if settings:
        raise SourceError(
            f"{uri.shown}: `{next(iter(settings))}` is not a setting of an S3 URI",
            hint="region, scheme, endpoint_override, access_key, secret_key, session_token, "
            "anonymous, role_arn, tls_ca_file_path, connect_timeout and request_timeout are",
        )
    if uri.user_info:
        user, _, password = uri.user_info.partition(":")
        values["access_key"] = unquoted(user, uri.shown)
        values["secret_key"] = unquoted(password, uri.shown)
    if bool(values.get("access_key")) != bool(values.get("secret_key")):
        raise SourceError(
            f"{uri.shown}: give both an access key and a secret key",
            hint="s3://ACCESS_KEY:SECRET_KEY@BUCKET/PATH, or leave out both",
        )
    _add_endpoint(values)
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if "region" not in values and region:
        values["region"] = region
    elif "region" not in values:
        is_aws = "endpoint_override" not in values
        values["region"] = "us-east-1"
        if is_aws:
            values["region"] = patiently(uri, lambda: resolve_s3_region(uri.host))
    values["retry_strategy"] = AwsDefaultS3RetryStrategy(max_attempts=_RETRIES)
    return S3FileSystem(**values)


def _add_endpoint(values: dict[str, Any]) -> None:
    """Complete where the server is, from the surroundings and from an endpoint with a scheme."""
    named = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    endpoint = values.get("endpoint_override") or named
    if endpoint is None:
        return
    scheme, separator, rest = endpoint.rpartition("://")
    values["endpoint_override"] = rest.rstrip("/")
    if separator:
        values.setdefault("scheme", scheme)


def _seconds(uri: Uri, key: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 3600:
        raise SourceError(f"{uri.shown}: `{key}` must be a number of seconds")
    return seconds
