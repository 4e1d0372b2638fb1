/** Ghost text: asks the sidecar at the cursor, shows what comes, and lets a shown suggestion grow in place. */

import * as vscode from "vscode";
import type { CompleteParams, Position, Range, UpdateParams } from "../protocol";
import { SELECTOR, type Sidecar } from "../sidecar/client";
import { Live, type Place } from "./live";

const PROVIDER_ID = "tiercel.tiercel:*";
const GROW_EVERY_MS = 100;
const AUTOMATIC = vscode.InlineCompletionTriggerKind.Automatic;

/**
 * Invariant: `live` is the newest request that has not died; updates of any other token are dropped. A suggestion is
 * shown only at the version and the cursor that `live` stands for.
 */
export class InlineProvider implements vscode.InlineCompletionItemProvider, vscode.Disposable {
  paused = false;
  private live: Live | undefined;
  private nextToken = 1;
  private wake: (() => void) | undefined;
  private registration: vscode.Disposable | undefined;
  private growing: NodeJS.Timeout | undefined;
  private lastGrowth = 0;
  private growthAsked = false;
  private dismissible = false;
  private lastEdit: { uri: string; version: number; from: number; to: number } | undefined;
  private readonly listeners: vscode.Disposable[];

  constructor(
    private readonly sidecar: () => Sidecar | undefined,
    private readonly onThinking: (thinking: boolean) => void,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.register();
    this.listeners = [
      vscode.workspace.onDidChangeTextDocument((event) => this.followEdit(event)),
      vscode.window.onDidChangeTextEditorSelection((event) => this.followCursor(event.textEditor)),
      vscode.window.onDidChangeActiveTextEditor(() => this.drop()),
    ];
  }

  dispose(): void {
    this.drop();
    this.registration?.dispose();
    for (const listener of this.listeners) {
      listener.dispose();
    }
  }

  async provideInlineCompletionItems(
    document: vscode.TextDocument,
    position: vscode.Position,
    context: vscode.InlineCompletionContext,
    token: vscode.CancellationToken,
  ): Promise<vscode.InlineCompletionItem[]> {
    if (this.paused || !isPlainEditor(document)) {
      return [];
    }
    const place = placeOf(document, position);
    const selected = selectedRest(document, position, context);
    if (selected === undefined) {
      return [];
    }
    // The cursor may move between our own trigger and VS Code's question: nobody has asked for anything there.
    const growth = this.growthAsked;
    this.growthAsked = false;
    if (!this.live?.answers(place, selected) || this.live.usedUp) {
      if (context.triggerKind === AUTOMATIC && (growth || !this.isWhereTyped(place))) {
        return [];
      }
      await this.ask(document, position, context, new Live(this.nextToken++, place, selected), token);
    }
    const live = this.live;
    if (token.isCancellationRequested || !live?.answers(place, selected) || live.rest === "") {
      return [];
    }
    return item(live, document, position, context);
  }

  /** Takes a message of the sidecar. */
  update(update: UpdateParams): void {
    const live = this.live;
    if (live === undefined || update.token !== live.token) {
      return;
    }
    if (update.superseded || !live.grow(update.text, update.done)) {
      this.drop();
      return;
    }
    if (this.wake !== undefined) {
      this.wake(); // nothing is shown yet: the provider's answer will have this text
    } else {
      this.growSoon();
    }
    this.tell();
  }

  /** Ends the suggestion, shown or not: it is not grown and not shown again. */
  drop(): void {
    const live = this.live;
    this.live = undefined;
    clearTimeout(this.growing);
    this.growing = undefined;
    this.wake?.();
    this.tell();
    if (live !== undefined && !live.done) {
      this.sidecar()?.cancel({ token: live.token });
    }
  }

  /** Asks the sidecar and waits for the first text; `live` is then the suggestion, or undefined. */
  private async ask(
    document: vscode.TextDocument,
    position: vscode.Position,
    context: vscode.InlineCompletionContext,
    live: Live,
    token: vscode.CancellationToken,
  ): Promise<void> {
    this.drop();
    const sidecar = this.sidecar();
    if (sidecar === undefined || token.isCancellationRequested) {
      return;
    }
    this.live = live;
    this.tell();
    const first = new Promise<void>((resolve) => {
      this.wake = () => {
        this.wake = undefined;
        resolve();
      };
    });
    const cancelled = token.onCancellationRequested(() => {
      if (this.live === live) {
        this.drop();
      }
    });
    try {
      const answer = await sidecar.complete(params(live.token, document, position, context), token);
      if (answer?.status === "ok") {
        await first;
      } else if (this.live === live) {
        this.drop();
      }
    } catch (error) {
      if (!token.isCancellationRequested) {
        this.log.warn(`The completion failed: ${error instanceof Error ? error.message : error}`);
      }
      if (this.live === live) {
        this.drop();
      }
    } finally {
      cancelled.dispose();
    }
  }

  private followEdit(event: vscode.TextDocumentChangeEvent): void {
    this.growthAsked = false;
    const changes = event.contentChanges.map((change) => ({
      offset: change.rangeOffset,
      removed: change.rangeLength,
      text: change.text,
    }));
    const uri = event.document.uri.toString();
    if (changes.length > 0) {
      const from = Math.min(...changes.map((change) => change.offset));
      const to = Math.max(...changes.map((change) => change.offset + change.text.length));
      this.lastEdit = { uri, version: event.document.version, from, to };
    }
    const live = this.live;
    if (live?.belongsTo(uri) && !live.follow(event.document.version, changes)) {
      this.drop();
    }
  }

  private followCursor(editor: vscode.TextEditor): void {
    // An edit also moves the cursor of a second editor on the same document: that one's is not the person's.
    const live = this.live;
    if (
      editor === vscode.window.activeTextEditor &&
      live?.belongsTo(editor.document.uri.toString()) &&
      !live.standsAt(placeOf(editor.document, editor.selection.active))
    ) {
      this.drop();
    }
  }

  /** VS Code, too, asks a moment after a key, when the cursor may be elsewhere: there nobody has typed. */
  private isWhereTyped(place: Place): boolean {
    const edit = this.lastEdit;
    return (
      edit?.uri === place.uri &&
      edit.version === place.version &&
      edit.from <= place.offset &&
      place.offset <= edit.to
    );
  }

  /** VS Code answers from its cache unless the provider is a new one: that is how a shown suggestion grows. */
  private growSoon(): void {
    if (this.growing !== undefined) {
      return;
    }
    const wait = Math.max(0, this.lastGrowth + GROW_EVERY_MS - Date.now());
    this.growing = setTimeout(() => {
      this.growing = undefined;
      this.lastGrowth = Date.now();
      const editor = vscode.window.activeTextEditor;
      if (editor === undefined || !this.live?.standsAt(placeOf(editor.document, editor.selection.active))) {
        this.drop();
        return;
      }
      this.register();
      this.growthAsked = true;
      vscode.commands.executeCommand("editor.action.inlineSuggest.trigger", {
        explicit: false,
        providerId: PROVIDER_ID,
      });
      this.tell();
    }, wait);
  }

  private register(): void {
    this.registration?.dispose();
    this.registration = vscode.languages.registerInlineCompletionItemProvider(SELECTOR, this);
  }

  /** Tells the status bar, and the key that ends a suggestion, whether more of it is to come. */
  private tell(): void {
    this.onThinking(this.live !== undefined && !this.live.done);
    const dismissible = this.live !== undefined && (!this.live.done || this.growing !== undefined);
    if (dismissible !== this.dismissible) {
      this.dismissible = dismissible;
      vscode.commands.executeCommand("setContext", "tiercel.growing", dismissible);
    }
  }
}

function placeOf(document: vscode.TextDocument, position: vscode.Position): Place {
  return { uri: document.uri.toString(), version: document.version, offset: document.offsetAt(position) };
}

/** Whether the document is edited in a plain editor with one cursor: not in a diff, a merge, an input or an output pane. */
function isPlainEditor(document: vscode.TextDocument): boolean {
  const editor = vscode.window.activeTextEditor;
  const tab = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  return (
    (document.uri.scheme === "file" || document.uri.scheme === "untitled") &&
    editor?.document === document &&
    editor.selections.length === 1 &&
    tab instanceof vscode.TabInputText
  );
}

function params(
  token: number,
  document: vscode.TextDocument,
  position: vscode.Position,
  context: vscode.InlineCompletionContext,
): CompleteParams {
  const selected = context.selectedCompletionInfo;
  return {
    token,
    textDocument: { uri: document.uri.toString(), version: document.version },
    position: plainPosition(position),
    context: {
      triggerKind: context.triggerKind === vscode.InlineCompletionTriggerKind.Invoke ? 1 : 2,
      selectedCompletionInfo: selected && { range: plainRange(selected.range), text: selected.text },
    },
  };
}

// VS Code's own classes turn into arrays in JSON.
function plainPosition(position: vscode.Position): Position {
  return { line: position.line, character: position.character };
}

function plainRange(range: vscode.Range): Range {
  return { start: plainPosition(range.start), end: plainPosition(range.end) };
}

/** What the selected entry of the suggest list would still add; undefined if it does not continue what is typed. */
function selectedRest(
  document: vscode.TextDocument,
  position: vscode.Position,
  context: vscode.InlineCompletionContext,
): string | undefined {
  const selected = context.selectedCompletionInfo;
  if (selected === undefined) {
    return "";
  }
  const typed = document.getText(new vscode.Range(selected.range.start, position));
  return selected.text.startsWith(typed) ? selected.text.slice(typed.length) : undefined;
}

/** The item reaches back over what was typed along, so that VS Code keeps it on the screen at the next letter. */
function item(
  live: Live,
  document: vscode.TextDocument,
  position: vscode.Position,
  context: vscode.InlineCompletionContext,
): vscode.InlineCompletionItem[] {
  const selected = context.selectedCompletionInfo;
  if (selected !== undefined) {
    const typed = document.getText(new vscode.Range(selected.range.start, position));
    const text = typed + live.rest;
    return text.startsWith(selected.text) ? [new vscode.InlineCompletionItem(text, selected.range)] : [];
  }
  const start = document.positionAt(live.start);
  const oneLine = start.line === position.line;
  const text = oneLine ? live.text : live.rest;
  return [new vscode.InlineCompletionItem(text, new vscode.Range(oneLine ? start : position, position))];
}
