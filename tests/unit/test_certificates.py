"""The public door's certificate: read, refused with a sentence, and renewed while it is in use."""

import os
from pathlib import Path

import pytest
import trustme

from gpustack_lite import certificates
from gpustack_lite.certificates import Certificates, Pair
from gpustack_lite.errors import Refusal
from gpustack_lite.settings import Settings


def written(folder: Path, *, stamp: int) -> Pair:
    """A fresh certificate in the same two files, each time with another time of change."""
    made = trustme.CA().issue_cert("localhost")
    pair = Pair(folder / "cert.pem", folder / "key.pem")
    made.cert_chain_pems[0].write_to_path(pair.certificate)
    made.private_key_pem.write_to_path(pair.key)
    for path in (pair.certificate, pair.key):
        os.utime(path, ns=(stamp, stamp))
    return pair


def test_without_a_word_about_tls_there_is_none() -> None:
    assert certificates.configured(Settings()) is None


@pytest.mark.parametrize(
    ("given", "missing"),
    [({"tls_cert": "c"}, "--tls-key"), ({"tls_key": "k"}, "--tls-cert"), ({"tls_port": 9443}, "--tls-cert")],
    ids=["certificate", "key", "port"],
)
def test_half_of_it_is_refused_with_the_option_that_is_missing(given: dict[str, object], missing: str) -> None:
    with pytest.raises(Refusal) as refused:
        certificates.configured(Settings(**given))
    assert (refused.value.code, refused.value.params) == ("tls_half", {"option": missing})


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    pair = written(tmp_path, stamp=1)
    pair.key.unlink()
    with pytest.raises(Refusal) as refused:
        certificates.load(pair)
    assert (refused.value.code, refused.value.params["path"]) == ("tls_unreadable", str(pair.key))


def test_a_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    pair = written(tmp_path, stamp=1)
    (tmp_path / "other").mkdir()
    other = written(tmp_path / "other", stamp=1)
    with pytest.raises(Refusal) as refused:
        certificates.load(Pair(pair.certificate, other.key))
    assert refused.value.code == "tls_unfit"


def test_new_files_are_taken_once(tmp_path: Path) -> None:
    held = Certificates(written(tmp_path, stamp=1))
    assert not held.renew()
    written(tmp_path, stamp=2)
    assert held.renew()
    assert not held.renew()


def test_files_that_do_not_fit_leave_the_old_ones_in_use_and_are_taken_when_they_are_mended(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pair = written(tmp_path, stamp=1)
    held = Certificates(pair)
    pair.certificate.write_text("half written")
    assert not held.renew()
    assert [record.message for record in caplog.records] == ["certificate_not_renewed"]
    written(tmp_path, stamp=3)
    assert held.renew()
