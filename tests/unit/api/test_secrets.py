"""Secrets go in, are used, and never come out."""

from pathlib import Path

import httpx
import pytest

from gpustack_lite.api import secrets, vault
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Ports
from gpustack_lite.settings import Settings
from tests.fakes.management import Api, running

CANARY = "hf_canaryCANARYcanary1234"
KEYS = [f"{letter * 42}A" for letter in "abc"]


async def read(api: Api, name: str = "huggingface_token") -> str | None:
    async with api.context.db.read() as session:
        return await secrets.secret(api.context, session, name)


async def put(client: httpx.AsyncClient, value: str = CANARY, name: str = "huggingface_token") -> httpx.Response:
    return await client.put(f"/api/v1/secrets/{name}", json={"value": value})


@pytest.fixture(autouse=True)
def opened(api: Api) -> None:
    found = vault.open_vault(api.context.settings, api.context.ports, api.context.data_dir, has_secrets=False)
    api.context.vault.ring, api.context.vault.path = found.ring, found.path


async def test_a_secret_is_read_by_the_server_and_answered_to_nobody(api: Api, client: httpx.AsyncClient) -> None:
    answers = [
        await put(client),
        await client.get("/api/v1/secrets"),
        await client.get("/api/v1/secrets/huggingface_token"),
    ]
    assert await read(api) == CANARY
    assert [CANARY in each.text for each in answers] == [False] * 3
    shown = answers[2].json()
    assert (shown["is_set"], shown["ending"], shown["set_by"], shown["readable"]) == (True, "1234", "admin", True)
    assert "Hugging Face" in shown["message"]


async def test_nothing_of_a_secret_is_in_the_files_of_the_server(api: Api, client: httpx.AsyncClient) -> None:
    await put(client)
    kept = [each for each in api.context.data_dir.rglob("*") if each.is_file()]
    assert [each.name for each in kept if CANARY.encode() in each.read_bytes()] == []
    assert (api.context.data_dir / "secret_key").stat().st_mode & 0o777 == 0o600


async def test_short_secrets_show_no_part(client: httpx.AsyncClient) -> None:
    assert (await put(client, "fifteen-letters")).json()["ending"] is None


@pytest.mark.parametrize("value", ["", " ", "two words", "line\nbreak", "é", 7, None, ["x"]])
async def test_what_is_no_secret_is_refused_without_repeating_it(client: httpx.AsyncClient, value: object) -> None:
    answer = await client.put("/api/v1/secrets/huggingface_token", json={"value": value})
    assert answer.status_code in {400, 422}
    assert "two words" not in answer.text


async def test_unknown_names_are_no_secrets(client: httpx.AsyncClient) -> None:
    assert (await put(client, name="else")).status_code == 404
    assert (await client.get("/api/v1/secrets/else")).status_code == 404


async def test_a_deleted_secret_is_gone(api: Api, client: httpx.AsyncClient) -> None:
    await put(client)
    assert (await client.delete("/api/v1/secrets/huggingface_token")).status_code == 204
    assert await read(api) is None
    assert (await client.delete("/api/v1/secrets/huggingface_token")).status_code == 404


async def test_a_new_key_opens_what_the_old_one_sealed(api: Api, client: httpx.AsyncClient) -> None:
    await put(client)
    before = (api.context.data_dir / "secret_key").read_text()
    assert (await client.post("/api/v1/secrets/rotate-key")).json() == {"sealed_anew": 1}
    after = (api.context.data_dir / "secret_key").read_text()
    assert before.strip() not in after
    assert await read(api) == CANARY
    again = vault.open_vault(api.context.settings, api.context.ports, api.context.data_dir, has_secrets=True)
    assert again.ring == api.context.vault.ring


async def test_a_rotation_that_was_cut_leaves_a_file_that_opens_everything(api: Api, client: httpx.AsyncClient) -> None:
    await put(client)
    path = api.context.data_dir / "secret_key"
    old = path.read_text().strip()
    for texts in [(KEYS[0], old), (old, KEYS[0])]:  # killed before the database changed, or after
        api.context.vault.keep(api.context.ports.disk, path, texts)
        assert await read(api) == CANARY


async def test_a_wrong_key_says_so_and_the_right_one_finds_all(tmp_path: Path, template: Path) -> None:
    (apart := tmp_path / "apart").mkdir()
    async with running(apart, template, secret_key=KEYS[0]) as api:
        admin = await api.user()
        async with api.client(await api.key(admin, "manage")) as client:
            api.context.vault.ring = vault.open_vault(api.context.settings, Ports(), apart, has_secrets=False).ring
            await put(client)
            for texts, code in ((KEYS[1], "secret_key_wrong"), (None, "secret_key_missing")):
                other = vault.open_vault(Settings(secret_key=texts), Ports(), apart, has_secrets=True)
                api.context.vault.ring = other.ring
                with pytest.raises(Refusal, match=code):
                    await read(api)
                assert (await client.get("/api/v1/secrets/huggingface_token")).json()["readable"] is False
            both = Settings(secret_key=f"{KEYS[2]},{KEYS[0]}")
            api.context.vault.ring = vault.open_vault(both, Ports(), apart, has_secrets=True).ring
            assert await read(api) == CANARY
            assert (await client.post("/api/v1/secrets/rotate-key")).json() == {"sealed_anew": 1}
            new = Settings(secret_key=KEYS[2])
            api.context.vault.ring = vault.open_vault(new, Ports(), apart, has_secrets=True).ring
            assert await read(api) == CANARY
    assert not (apart / "secret_key").exists()


def test_a_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="secret_key_unreadable"):
        vault.open_vault(Settings(secret_key_file=tmp_path / "none"), Ports(), tmp_path, has_secrets=False)
    (tmp_path / "key").write_text(f"{KEYS[0]}\n{KEYS[1]}\n")
    found = vault.open_vault(Settings(secret_key_file=tmp_path / "key"), Ports(), tmp_path, has_secrets=False)
    assert len(found.ring.keys) == 2


def test_settings_do_not_show_the_key() -> None:
    assert KEYS[0] not in repr(Settings(secret_key=KEYS[0]))
