"""Certificates of a local cluster: two authorities of its own, and what they sign.

Keys are P-256 (made in a millisecond, known to every part). Files with a private key can be read by their owner alone.
"""

import datetime
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = datetime.timedelta(days=3650)
_CLOCK_SKEW = datetime.timedelta(minutes=5)


@dataclass(frozen=True)
class KeyPair:
    """A private key and what goes public with it, both as PEM."""

    certificate: bytes
    """For a service account's key, the public key."""
    key: bytes

    def write(self, folder: Path, name: str) -> None:
        """Write `NAME.crt` and `NAME.key`."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / f"{name}.crt").write_bytes(self.certificate)
        write_private(folder / f"{name}.key", self.key)


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, from its first byte on."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        os.fchmod(file.fileno(), 0o600)  # one that was there before keeps its mode otherwise
        file.write(content)


def read_pair(folder: Path, name: str) -> KeyPair:
    """Read what `KeyPair.write` wrote."""
    return KeyPair((folder / f"{name}.crt").read_bytes(), (folder / f"{name}.key").read_bytes())


def make_authority(common_name: str) -> KeyPair:
    """Make a certificate authority that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(common_name, ())
    builder = _builder(name, name, key.public_key()).add_extension(x509.BasicConstraints(True, 0), critical=True)
    builder = builder.add_extension(_key_usage(signs_certificates=True), critical=True)
    return KeyPair(_pem(builder.sign(key, hashes.SHA256())), _key_pem(key))


def issue(
    authority: KeyPair,
    common_name: str,
    *,
    organizations: Sequence[str] = (),
    hosts: Sequence[str] = (),
    is_server: bool = False,
    is_client: bool = False,
) -> KeyPair:
    """Sign a new key: for a client (its name is the user, its organizations the groups), a server, or both.

    `hosts` are the DNS names and IP addresses under which a server is reached.
    """
    signer = x509.load_pem_x509_certificate(authority.certificate)
    signer_key = serialization.load_pem_private_key(authority.key, password=None)
    if not isinstance(signer_key, ec.EllipticCurvePrivateKey):
        raise TypeError(f"got an authority with a key of type {type(signer_key).__name__}, expected a P-256 key")
    key = ec.generate_private_key(ec.SECP256R1())
    usages = [ExtendedKeyUsageOID.SERVER_AUTH] * is_server + [ExtendedKeyUsageOID.CLIENT_AUTH] * is_client
    builder = _builder(_name(common_name, organizations), signer.subject, key.public_key())
    builder = builder.add_extension(x509.BasicConstraints(False, None), critical=True)
    builder = builder.add_extension(_key_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    builder = builder.add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_public_key(signer_key.public_key()), critical=False
    )
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
    return KeyPair(_pem(builder.sign(signer_key, hashes.SHA256())), _key_pem(key))


def make_signing_key() -> KeyPair:
    """Make the key with which the API server signs the tokens of service accounts."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return KeyPair(public, _key_pem(key))


def _builder(subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(issuer, subject, public_key, x509.random_serial_number())
    builder = builder.not_valid_before(now - _CLOCK_SKEW).not_valid_after(now + _VALID)
    return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)


def _name(common_name: str, organizations: Sequence[str]) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization) for organization in organizations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    # As upstream's own tools write it; etcd and the API server read it.
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
