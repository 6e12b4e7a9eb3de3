"""`gpustack-lite groups`: users under one name, to be named in the access of a model."""

from typing import Annotated

import typer

from gpustack_lite.cli.access import connect
from gpustack_lite.cli.output import Column, Format, Output, show_document, show_done, show_list
from gpustack_lite.cli.say import say

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True, help=say("help_groups"))
Name = Annotated[str, typer.Argument(metavar="NAME", help=say("help_group_name"))]
Username = Annotated[str, typer.Argument(metavar="USERNAME", help=say("help_username"))]
COLUMNS = (Column("name"), Column("members"), Column("description"), Column("created_at"))


@app.command("list", help=say("help_groups_list"))
def list_groups(output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_list(client.listed("groups"), COLUMNS, output)


@app.command("show", help=say("help_groups_show"))
def show(name: Name, output: Output = Format.TABLE) -> None:
    with connect() as client:
        show_document(client.get("groups", name), output)


@app.command("create", help=say("help_groups_create"))
def create(
    name: Name,
    member: Annotated[list[str] | None, typer.Option(metavar="USERNAME", help=say("help_username"))] = None,
    description: Annotated[str, typer.Option(help=say("help_group_description"))] = "",
    output: Output = Format.TABLE,
) -> None:
    body = {"name": name, "description": description, "members": member or []}
    with connect() as client:
        show_done(client.post("groups", body=body), output, "group_made", name=name)


@app.command("add", help=say("help_groups_add"))
def add(name: Name, username: Username, output: Output = Format.TABLE) -> None:
    with connect() as client:
        group = client.put("groups", name, "members", username)
    show_done(group, output, "group_joined", name=name, user=username)


@app.command("remove", help=say("help_groups_remove"))
def remove(name: Name, username: Username, output: Output = Format.TABLE) -> None:
    with connect() as client:
        group = client.delete("groups", name, "members", username)
    show_done(group, output, "group_left", name=name, user=username)


@app.command("delete", help=say("help_groups_delete"))
def delete(name: Name, output: Output = Format.TABLE) -> None:
    with connect() as client:
        client.delete("groups", name)
    show_done({"name": name, "deleted": True}, output, "group_deleted", name=name)
