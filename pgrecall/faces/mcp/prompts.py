"""Prompts of the MCP server, which editors offer as commands: recall, remember, and the review of a plan.

A prompt is a message to the model that names the tools to call. It reads nothing, so it needs no tenant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Template
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    PromptArgument,
    PromptMessage,
    TextContent,
)
from mcp.types import Prompt as ListedPrompt

MAX_ARGUMENT = 10_000
"""Characters of an argument, as of a query."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: its argument, and the message with ``$argument`` in the place of what was given."""

    title: str
    description: str
    argument: str
    about: str
    message: str
    without: str
    """The message if the argument was left out; empty if it is needed."""


PROMPTS: Mapping[str, Prompt] = {
    "recall": Prompt(
        title="Recall",
        description="Look up what the memory knows about something, and answer from it.",
        argument="question",
        about="What you want to know.",
        message=(
            "Call the tool `context` of pgrecall with the question below. Answer from what it returns "
            "and name the memories you rely on by their numbers; if it returns nothing, say that "
            "nothing is remembered. Then call `used` with its search_id and these memories.\n\n"
            "Question: $argument"
        ),
        without="",
    ),
    "remember": Prompt(
        title="Remember",
        description="Store something for later conversations.",
        argument="what",
        about="What to remember; left out, the decisions and facts of this conversation.",
        message=(
            "Remember the following with the tool `remember` of pgrecall: one call for each fact, "
            "understandable on its own, with names instead of pronouns and dates instead of "
            "'yesterday'. Call `search` first: if a memory says something else, store the new one and "
            "call `supersede`. Then say what you stored.\n\n"
            "$argument"
        ),
        without=(
            "Go through this conversation and remember with the tool `remember` of pgrecall what a "
            "later conversation will need: decisions with their reasons, preferences, facts about "
            "people and projects. One call for each, understandable on its own. Leave out secrets, "
            "and what is in the project's files. Call `search` first: if a memory says something "
            "else, store the new one and call `supersede`. Then list what you stored."
        ),
    ),
    "review": Prompt(
        title="Review a plan",
        description="Plan what could be archived, and go through the plan with you. Nothing is archived.",
        argument="layers",
        about="Only memories of these layers, with commas between them; left out, of all.",
        message=(
            "Call the tool `prune_plan` of pgrecall with the layers $argument. Then show me the "
            "planned memories in groups by topic, with the reason of each. Name those that may still "
            "be needed. Archive nothing yourself: say how I apply the plan or a part of it."
        ),
        without=(
            "Call the tool `prune_plan` of pgrecall. Then show me the planned memories in groups by "
            "topic, with the reason of each. Name those that may still be needed. Archive nothing "
            "yourself: say how I apply the plan or a part of it."
        ),
    ),
}


async def list_prompts(
    _: ServerRequestContext[Any, Any], __: PaginatedRequestParams | None
) -> ListPromptsResult:
    """Answers which prompts there are."""
    return ListPromptsResult(
        prompts=[
            ListedPrompt(
                name=name,
                title=prompt.title,
                description=prompt.description,
                arguments=[
                    PromptArgument(
                        name=prompt.argument, description=prompt.about, required=not prompt.without
                    )
                ],
            )
            for name, prompt in PROMPTS.items()
        ]
    )


async def get_prompt(_: ServerRequestContext[Any, Any], params: GetPromptRequestParams) -> GetPromptResult:
    """Answers the message of a prompt."""
    prompt = PROMPTS.get(params.name)
    if prompt is None:
        raise MCPError(
            INVALID_PARAMS, f"There is no prompt {params.name!r:.100}. There are {', '.join(PROMPTS)}."
        )
    given = dict(params.arguments or {})
    text = given.pop(prompt.argument, "").strip()
    if given:
        raise MCPError(INVALID_PARAMS, f"{params.name}: it takes {prompt.argument} only.")
    if not text and not prompt.without:
        raise MCPError(INVALID_PARAMS, f"{params.name}: {prompt.argument} is missing.")
    if len(text) > MAX_ARGUMENT:
        raise MCPError(
            INVALID_PARAMS, f"{params.name}: {prompt.argument} has more than {MAX_ARGUMENT:,} characters."
        )
    message = Template(prompt.message).substitute(argument=text) if text else prompt.without
    return GetPromptResult(
        description=prompt.description,
        messages=[PromptMessage(role="user", content=TextContent(text=message))],
    )
