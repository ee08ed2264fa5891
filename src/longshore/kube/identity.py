"""Who we are to the API server: its address, its authority, and credentials that may change while we run."""

import ssl
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from longshore.core.words.errors import InputError

# As client-go: what is mounted is renewed long before it ends, so a minute's age does no harm.
_FILE_SECONDS = 60.0


class Certificate(NamedTuple):
    """A client certificate and its key, both PEM."""

    certificate: bytes
    key: bytes


class Credentials(NamedTuple):
    """What is shown to the server; both may be there."""

    token: str | None = None
    certificate: Certificate | None = None


class CredentialSource(Protocol):
    """Gives the credentials of this moment."""

    async def current(self) -> Credentials:
        """Return the credentials, fetched again where they have grown old."""
        ...

    def forget(self) -> None:
        """Fetch them again next time: the server did not take them."""
        ...


class FixedCredentials:
    """Credentials that stand in the kubeconfig itself."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    async def current(self) -> Credentials:
        """Return them."""
        return self._credentials

    def forget(self) -> None:
        """There are no others."""


class FileCredentials:
    """A token, or a certificate and its key, in files that somebody renews; they are read again every minute."""

    def __init__(
        self,
        token: Path | str | None = None,
        certificate: Path | bytes | None = None,
        key: Path | bytes | None = None,
        now: Callable[[], float] = time.monotonic,
    ):
        """Take where things are; text and bytes are the things themselves."""
        self._token, self._certificate, self._key = token, certificate, key
        self._now = now
        self._read_at = float("-inf")
        self._credentials: Credentials | None = None

    async def current(self) -> Credentials:
        """Return what the files hold; the last that was good, if they are away for a moment or half renewed.

        Raises:
            InputError: they could never be read, or the token is empty.
        """
        if self._credentials is not None and self._now() - self._read_at < _FILE_SECONDS:
            return self._credentials
        try:
            found = Credentials(self._read_token(), self._read_certificate())
        except InputError:
            if self._credentials is None:
                raise
            return self._credentials
        self._credentials, self._read_at = found, self._now()
        return found

    def forget(self) -> None:
        """Read the files again next time."""
        self._read_at = float("-inf")

    def _read_token(self) -> str | None:
        if not isinstance(self._token, Path):
            return self._token
        try:
            token = self._token.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"the token file `{self._token}` cannot be read: {error}") from error
        if not token:
            raise InputError(f"the token file `{self._token}` is empty, expected a token")
        return token

    def _read_certificate(self) -> Certificate | None:
        if self._certificate is None or self._key is None:
            return None
        found = Certificate(_content(self._certificate), _content(self._key))
        if self._credentials is None or found != self._credentials.certificate:
            # Who renews them writes one file after the other: a pair that does not match is half of the new one.
            files = [f"`{each}`" for each in (self._certificate, self._key) if isinstance(each, Path)]
            show_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), found, " and ".join(files))
        return found


def _content(source: Path | bytes) -> bytes:
    if isinstance(source, bytes):
        return source
    try:
        return source.read_bytes()
    except OSError as error:
        raise InputError(f"`{source}` cannot be read: {error.strerror or error}") from error


def show_certificate(context: ssl.SSLContext, certificate: Certificate, source: str) -> None:
    """Have connections show a certificate: a client's or a server's.

    Raises:
        InputError: it cannot be read, or the key is another's.
    """
    # Python's ssl reads a key only from a file; this one is for our eyes alone and gone at once.
    with tempfile.NamedTemporaryFile(prefix="longshore-") as file:
        file.write(certificate.certificate + b"\n" + certificate.key)
        file.flush()
        try:
            context.load_cert_chain(file.name, password=lambda: b"")
        except (ssl.SSLError, OSError, ValueError) as error:
            hint = "expected PEM, and a key without a password that belongs to the certificate"
            raise InputError(f"the certificate of {source} cannot be used: {error}", hint) from error


def _no_credentials() -> CredentialSource:
    return FixedCredentials(Credentials())


@dataclass(frozen=True)
class Identity:
    """An API server and how to speak to it."""

    server: str
    """Its address, such as `https://10.0.0.1:6443`, without a slash at the end."""
    credentials: CredentialSource = field(default_factory=_no_credentials)
    ca: bytes | None = None
    """The certificates (PEM) that vouch for the server; None = those of the system."""
    tls_server_name: str | None = None
    """The name that the server's certificate must bear, where it is not that of the address."""
    namespace: str = "default"
    source: str = "the caller"
    """Where this comes from, for messages: a context of a kubeconfig, or the pod's service account."""

    def tls(self, certificate: Certificate | None) -> ssl.SSLContext:
        """Return a context that verifies the server and shows the client's certificate.

        Raises:
            InputError: a certificate or key cannot be read.
        """
        try:
            context = ssl.create_default_context(cadata=None if self.ca is None else self.ca.decode("ascii"))
        except (ssl.SSLError, ValueError) as error:
            raise InputError(f"the certificate authority of {self.source} cannot be read: {error}") from error
        # Authorities of private clusters are often made without the extensions that strict checking asks for.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if certificate is not None:
            show_certificate(context, certificate, self.source)
        return context
