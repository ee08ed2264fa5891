"""Credentials from files, and the TLS context of an identity."""

import ssl
from pathlib import Path

import pytest

from longshore.core.words.errors import InputError
from longshore.kube.identity import Certificate, Credentials, FileCredentials, FixedCredentials, Identity
from longshore_lab.cluster.certificates import issue, make_authority


async def test_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    path, now = tmp_path / "token", [0.0]
    source = FileCredentials(path, now=lambda: now[0])
    path.write_text("one\n")
    assert await source.current() == Credentials("one")
    path.write_text("two")
    now[0] = 59.0
    assert await source.current() == Credentials("one")
    now[0] = 61.0
    assert await source.current() == Credentials("two")


async def test_token_file_is_read_again_when_the_token_was_refused(tmp_path: Path) -> None:
    path = tmp_path / "token"
    source = FileCredentials(path, now=lambda: 0.0)
    path.write_text("one")
    await source.current()
    path.write_text("two")
    source.forget()
    assert await source.current() == Credentials("two")


async def test_token_file_that_is_away_for_a_moment_does_no_harm(tmp_path: Path) -> None:
    path, now = tmp_path / "token", [0.0]
    source = FileCredentials(path, now=lambda: now[0])
    path.write_text("one")
    await source.current()
    path.unlink()
    now[0] = 100.0
    assert await source.current() == Credentials("one")


@pytest.mark.parametrize("content", [None, "  \n"])
async def test_token_file_without_a_token_is_refused(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=f"token file `{path}`"):
        await FileCredentials(path).current()


def write(folder: Path, pair: Certificate) -> FileCredentials:
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    now = iter(range(0, 10_000, 61))
    return FileCredentials(None, folder / "tls.crt", folder / "tls.key", now=lambda: next(now))


def client_certificate(name: str) -> Certificate:
    pair = issue(make_authority("a"), name, is_client=True)
    return Certificate(pair.certificate, pair.key)


async def test_a_certificate_that_was_renewed_is_shown(tmp_path: Path) -> None:
    one, two = client_certificate("one"), client_certificate("two")
    source = write(tmp_path, one)
    assert await source.current() == Credentials(None, one)
    write(tmp_path, two)
    assert await source.current() == Credentials(None, two)


async def test_a_certificate_without_its_new_key_is_not_shown_yet(tmp_path: Path) -> None:
    one, two = client_certificate("one"), client_certificate("two")
    source = write(tmp_path, one)
    await source.current()
    (tmp_path / "tls.crt").write_bytes(two.certificate)
    assert await source.current() == Credentials(None, one)
    (tmp_path / "tls.key").write_bytes(two.key)
    assert await source.current() == Credentials(None, two)


async def test_a_certificate_whose_key_never_matched_is_refused(tmp_path: Path) -> None:
    one, two = client_certificate("one"), client_certificate("two")
    with pytest.raises(InputError, match=r"tls.key` cannot be used"):
        await write(tmp_path, Certificate(one.certificate, two.key)).current()


async def test_fixed_credentials_stay() -> None:
    source = FixedCredentials(Credentials("t"))
    source.forget()
    assert await source.current() == Credentials("t")


def test_identity_verifies_the_server() -> None:
    context = Identity("https://x", ca=make_authority("a").certificate).tls(None)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert len(context.get_ca_certs()) == 1


def test_identity_refuses_an_authority_that_is_no_certificate() -> None:
    with pytest.raises(InputError, match=r"authority of context `c` cannot be read"):
        Identity("https://x", ca=b"no certificate", source="context `c`").tls(None)


def test_identity_refuses_a_key_that_does_not_belong_to_the_certificate() -> None:
    authority = make_authority("a")
    one, two = issue(authority, "one", is_client=True), issue(authority, "two", is_client=True)
    with pytest.raises(InputError, match="certificate of the caller cannot be used"):
        Identity("https://x").tls(Certificate(one.certificate, two.key))


def test_identity_leaves_no_key_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pair = issue(make_authority("a"), "one", is_client=True)
    Identity("https://x").tls(Certificate(pair.certificate, pair.key))
    assert list(tmp_path.iterdir()) == []
