"""Every message between an editor and the sidecar, one Struct each.

The shapes are those of the Language Server Protocol where it has them (positions are 0-based, characters count
UTF-16 code units); what the tiers need beyond it is named `tiercel/*`. `extension/src/protocol.ts` is generated
from this file by `scripts/generate_protocol.py`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .settings import Settings


class Message(msgspec.Struct, rename="camel", omit_defaults=False):
    """Base of all messages: snake_case here, camelCase on the wire, unknown fields ignored."""


# --- documents -------------------------------------------------------------------------------------------------


class Position(msgspec.Struct, frozen=True, order=True):
    """A place in a document: 0-based line, 0-based UTF-16 code unit within the line."""

    line: int
    character: int


class Range(msgspec.Struct, frozen=True):
    """A half-open stretch of a document."""

    start: Position
    end: Position


class TextDocumentIdentifier(Message):
    uri: str


class VersionedTextDocumentIdentifier(Message):
    uri: str
    version: int


class TextDocumentItem(Message):
    uri: str
    language_id: str
    version: int
    text: str


class TextDocumentContentChangeEvent(Message):
    """One edit; without a range, `text` is the whole document."""

    text: str
    range: Range | None = None


class DidOpenParams(Message):
    text_document: TextDocumentItem


class DidChangeParams(Message):
    text_document: VersionedTextDocumentIdentifier
    content_changes: list[TextDocumentContentChangeEvent]


class DidCloseParams(Message):
    text_document: TextDocumentIdentifier


class NeedTextParams(Message):
    """`tiercel/needText`, to the editor: the sidecar missed an edit and needs the document opened anew."""

    uri: str


# --- life cycle ------------------------------------------------------------------------------------------------


class WorkspaceFolder(Message):
    uri: str
    name: str = ""


class InitializeParams(Message):
    process_id: int | None = None
    root_uri: str | None = None
    workspace_folders: list[WorkspaceFolder] | None = None
    initialization_options: Settings | None = None
    locale: str = "en"


class TextDocumentSyncOptions(Message):
    open_close: bool = True
    change: Literal[0, 1, 2] = 2


class CompletionOptions(Message):
    trigger_characters: list[str]
    resolve_provider: bool = False


class ServerCapabilities(Message):
    text_document_sync: TextDocumentSyncOptions
    completion_provider: CompletionOptions
    inline_completion_provider: bool = True
    position_encoding: str = "utf-16"


class ServerInfo(Message):
    name: str
    version: str


class InitializeResult(Message):
    capabilities: ServerCapabilities
    server_info: ServerInfo


class DidChangeConfigurationParams(Message):
    settings: Settings


class CancelParams(Message):
    id: int | str


class LogMessageParams(Message):
    """`window/logMessage`: 1 error, 2 warning, 3 info, 4 log, 5 debug."""

    type: Literal[1, 2, 3, 4, 5]
    message: str


State = Literal["starting", "loading", "ready", "error"]


class StatusParams(Message):
    """`tiercel/status`, to the editor: what the sidecar is doing, for the status bar.

    `percent` (0–100) is there while loading; `message` says what is being done or, for an error, how to mend it.
    """

    state: State
    message: str = ""
    percent: int | None = None


# --- completion ------------------------------------------------------------------------------------------------


class SelectedCompletionInfo(Message):
    """The entry of the open suggest list that is selected: `text` would replace `range`."""

    range: Range
    text: str


class InlineCompletionContext(Message):
    """`trigger_kind` 1: the person asked; 2: they typed."""

    trigger_kind: Literal[1, 2] = 2
    selected_completion_info: SelectedCompletionInfo | None = None


class InlineCompletionParams(Message):
    text_document: TextDocumentIdentifier
    position: Position
    context: InlineCompletionContext = msgspec.field(default_factory=InlineCompletionContext)


class InlineCompletionItem(Message):
    insert_text: str
    range: Range | None = None


class InlineCompletionList(Message):
    items: list[InlineCompletionItem]


Tier = Literal["stream", "placeholder", "deep"]


class CompleteParams(Message):
    """`tiercel/complete`: a completion that is told of as it grows.

    `token` names this completion in the `tiercel/update` notifications that follow. `version` is the document
    version that `position` belongs to; a request for another version than the sidecar has is answered `stale`.
    """

    token: int
    text_document: VersionedTextDocumentIdentifier
    position: Position
    context: InlineCompletionContext = msgspec.field(default_factory=InlineCompletionContext)


class CompleteResult(Message):
    """The first answer, sent as soon as the tier is known.

    `status` `ok`: updates follow until one has `done`; `notReady`: the model is loading (`percent`);
    `stale`: the version or the position is gone. Only `ok` is followed by updates.
    `candidates` are the rule engine's, whole insertable texts, best first (the deep tier has one or two).
    """

    status: Literal["ok", "notReady", "stale"]
    tier: Tier = "stream"
    candidates: list[str] = msgspec.field(default_factory=list)
    percent: int | None = None


class UpdateParams(Message):
    """`tiercel/update`, to the editor: the whole text so far of the completion that `token` names.

    `text` is ready to insert at the requested position. `done` ends the completion, `superseded` says that it
    ended because a newer request took its place. `tier` is the tier that it is in by now.
    """

    token: int
    text: str
    done: bool
    superseded: bool = False
    tier: Tier = "stream"
    stats: CompletionStats | None = None


class CompletionStats(Message):
    """What one completion took: counts of tokens and milliseconds by phase."""

    prompt_tokens: int = 0
    reused_tokens: int = 0
    new_tokens: int = 0
    queue_ms: float = 0.0
    context_ms: float = 0.0
    prefill_ms: float = 0.0
    decode_ms: float = 0.0
    total_ms: float = 0.0


class CancelCompletionParams(Message):
    """`tiercel/cancel`, from the editor: nobody waits for the completion that `token` names any more."""

    token: int


class CompletionParams(Message):
    """`textDocument/completion`."""

    text_document: TextDocumentIdentifier
    position: Position
    context: Any = None


class CompletionItem(Message):
    """An entry of the suggest list; `kind` is LSP's CompletionItemKind."""

    label: str
    kind: int = 6
    detail: str = ""
    documentation: str = ""
    sort_text: str = ""
    insert_text: str = ""


class CompletionList(Message):
    is_incomplete: bool
    items: list[CompletionItem]


class ContextParams(Message):
    """`tiercel/context`: what would the model read at this place?"""

    text_document: TextDocumentIdentifier
    position: Position


class ContextResult(Message):
    """The prompt and its account, as text for a person; "" if there is none: the model loads, the place is gone."""

    text: str


class SelfCheckResult(Message):
    """`tiercel/selfCheck`: the same findings as `tiercel doctor`."""

    ok: bool
    findings: list[str]
