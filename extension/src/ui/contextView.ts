/** "Show What the Model Sees": the prompt at the cursor and the account of it, in a read-only editor. */

import * as vscode from "vscode";
import type { Sidecar } from "../sidecar/client";

const SCHEME = "tiercel";
const ADDRESS = vscode.Uri.parse(`${SCHEME}:What the Model Sees`);

export class ContextView implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private text = "";
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);

  provideTextDocumentContent(): string {
    return this.text;
  }

  async show(sidecar: Sidecar | undefined): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.languageId !== "python") {
      vscode.window.showInformationMessage(
        vscode.l10n.t("Open a Python file and put the cursor into it first."),
      );
      return;
    }
    const { line, character } = editor.selection.active;
    const uri = editor.document.uri.toString();
    this.text = (await sidecar?.context({ textDocument: { uri }, position: { line, character } })) ?? "";
    if (this.text === "") {
      vscode.window.showInformationMessage(
        vscode.l10n.t("There is nothing to show: the model is not ready yet."),
      );
      return;
    }
    this.changed.fire(ADDRESS);
    await vscode.window.showTextDocument(ADDRESS, { viewColumn: vscode.ViewColumn.Beside, preview: true });
  }

  dispose(): void {
    this.registration.dispose();
    this.changed.dispose();
  }
}
