"""Tests of the certificates: chains that verify, names, uses, and who may read the keys."""

import ipaddress
import ssl
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from longshore_lab.cluster import certificates
from longshore_lab.cluster.certificates import KeyPair, issue, make_authority, make_signing_key, read_pair


@pytest.fixture(scope="module")
def authority() -> KeyPair:
    return make_authority("trial")


def loaded(pair: KeyPair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate)


def test_an_issued_certificate_is_signed_by_its_authority(authority: KeyPair) -> None:
    loaded(issue(authority, "server", is_server=True)).verify_directly_issued_by(loaded(authority))


def test_another_authority_did_not_sign_it(authority: KeyPair) -> None:
    certificate = loaded(issue(make_authority("trial"), "server", is_server=True))
    with pytest.raises(InvalidSignature):
        certificate.verify_directly_issued_by(loaded(authority))


def test_a_client_certificate_carries_user_and_groups(authority: KeyPair) -> None:
    subject = loaded(issue(authority, "system:node:n", organizations=("system:nodes",), is_client=True)).subject
    assert [part.value for part in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["system:node:n"]
    assert [part.value for part in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == ["system:nodes"]


def test_a_server_certificate_names_hosts_and_addresses(authority: KeyPair) -> None:
    certificate = loaded(issue(authority, "s", hosts=("localhost", "127.0.0.1"), is_server=True))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert names.get_values_for_type(x509.IPAddress) == [ipaddress.ip_address("127.0.0.1")]


@pytest.mark.parametrize(
    ("is_server", "is_client", "want"),
    [
        (True, False, [ExtendedKeyUsageOID.SERVER_AUTH]),
        (False, True, [ExtendedKeyUsageOID.CLIENT_AUTH]),
        (True, True, [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
    ],
)
def test_a_certificate_is_for_its_use_alone(
    authority: KeyPair, is_server: bool, is_client: bool, want: list[x509.ObjectIdentifier]
) -> None:
    certificate = loaded(issue(authority, "x", is_server=is_server, is_client=is_client))
    assert list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == want


def test_only_the_authority_can_sign(authority: KeyPair) -> None:
    of_authority = loaded(authority).extensions.get_extension_for_class(x509.BasicConstraints)
    of_server = loaded(issue(authority, "s", is_server=True)).extensions.get_extension_for_class(x509.BasicConstraints)
    assert (of_authority.value.ca, of_server.value.ca) == (True, False)


def test_a_signing_key_has_its_public_half() -> None:
    pair = make_signing_key()
    private = serialization.load_pem_private_key(pair.key, password=None)
    assert serialization.load_pem_public_key(pair.certificate) == private.public_key()


def test_private_keys_are_their_owners_alone(tmp_path: Path, authority: KeyPair) -> None:
    (tmp_path / "old.key").write_text("readable by all")
    (tmp_path / "old.key").chmod(0o644)
    authority.write(tmp_path, "old")
    authority.write(tmp_path, "new")
    assert {stat.S_IMODE((tmp_path / f"{name}.key").stat().st_mode) for name in ("old", "new")} == {0o600}


def test_what_is_written_is_read_again(tmp_path: Path, authority: KeyPair) -> None:
    authority.write(tmp_path, "ca")
    assert read_pair(tmp_path, "ca") == authority


def test_tls_works_with_them_and_refuses_another_name(tmp_path: Path, authority: KeyPair) -> None:
    authority.write(tmp_path, "ca")
    issue(authority, "server", hosts=("right.example",), is_server=True).write(tmp_path, "server")
    assert _handshake(tmp_path, "right.example") is None
    assert isinstance(_handshake(tmp_path, "wrong.example"), ssl.SSLCertVerificationError)


def _handshake(folder: Path, name: str) -> ssl.SSLError | None:
    """Shake hands in memory, with full verification; return what failed."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "server.crt", folder / "server.key")
    client = ssl.create_default_context(cafile=folder / "ca.crt")
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(6):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError as error:
                return error
    return None


def test_serial_numbers_differ(authority: KeyPair) -> None:
    assert loaded(issue(authority, "x")).serial_number != loaded(issue(authority, "x")).serial_number


def test_an_authority_of_another_kind_is_refused() -> None:
    from cryptography.hazmat.primitives.asymmetric import ed25519

    key = ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with pytest.raises(TypeError, match="Ed25519"):
        certificates.issue(KeyPair(make_authority("x").certificate, key), "y")
