"""Who we are to the API server: its address, its authority, and credentials that may change while we run."""

import ssl
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from longshore.core.words.errors import InputError

# As client-go: a mounted token is renewed long before it ends, so a minute's age does no harm.
_TOKEN_FILE_SECONDS = 60.0


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


class TokenFile:
    """A token in a file that somebody renews, as the kubelet does for a pod; read again every minute."""

    def __init__(self, path: Path, certificate: Certificate | None = None, now: Callable[[], float] = time.monotonic):
        self.path = path
        self._certificate = certificate
        self._now = now
        self._read_at = float("-inf")
        self._credentials = Credentials(None, certificate)

    async def current(self) -> Credentials:
        """Return the token; the last one that could be read if the file is away for a moment.

        Raises:
            InputError: the file could never be read, or is empty.
        """
        if self._now() - self._read_at < _TOKEN_FILE_SECONDS:
            return self._credentials
        try:
            token = self.path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            if self._credentials.token is None:
                raise InputError(f"the token file `{self.path}` cannot be read: {error}") from error
            return self._credentials
        if not token:
            raise InputError(f"the token file `{self.path}` is empty, expected a token")
        self._credentials, self._read_at = Credentials(token, self._certificate), self._now()
        return self._credentials

    def forget(self) -> None:
        """Read the file again next time."""
        self._read_at = float("-inf")


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
            self._load(context, certificate)
        return context

    def _load(self, context: ssl.SSLContext, certificate: Certificate) -> None:
        # Python's ssl reads a key only from a file; this one is for our eyes alone and gone at once.
        with tempfile.NamedTemporaryFile(prefix="longshore-") as file:
            file.write(certificate.certificate + b"\n" + certificate.key)
            file.flush()
            try:
                context.load_cert_chain(file.name, password=lambda: b"")
            except (ssl.SSLError, OSError, ValueError) as error:
                hint = "expected PEM, and a key without a password that belongs to the certificate"
                raise InputError(f"the client certificate of {self.source} cannot be used: {error}", hint) from error
