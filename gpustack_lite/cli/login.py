"""`gpustack-lite login`: remember a server and a session with it."""

import sys
from typing import Annotated

import typer

from gpustack_lite.cli import access
from gpustack_lite.cli.say import complain, say, tell
from gpustack_lite.client import Client, is_loopback
from gpustack_lite.messages import language_of_terminal
from gpustack_lite.ports import Ports

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(help=say("help_login"), epilog=say("help_login_examples"))
def login(
    url: Annotated[str, typer.Argument(metavar="URL", help=say("help_login_url"))] = "http://127.0.0.1:9090",
    username: Annotated[str, typer.Option("-u", "--username", help=say("help_username"))] = "admin",
    password_stdin: Annotated[bool, typer.Option("--password-stdin", help=say("help_password_stdin"))] = False,
) -> None:
    if url.startswith("http://") and not is_loopback(url):
        complain("login_in_the_clear", url=url)
    if password_stdin:
        password = sys.stdin.readline().rstrip("\n")
    else:
        password = typer.prompt(say("password_of", username=username), hide_input=True, err=True)
    with Client(url, language=language_of_terminal()) as client:
        signed_in = client.post("auth", "login", body={"username": username, "password": password})
    access.store(Ports(), client.url, signed_in["token"])
    tell("signed_in", url=client.url, path=str(access.credentials_path()))
    if signed_in.get("must_change_password"):
        tell("password_to_change", url=client.url)
