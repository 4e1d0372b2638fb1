/** The status bar item: what Tiercel is doing, and a menu at a click. */

import * as vscode from "vscode";
import { look, type State } from "./text";

export class StatusBar implements vscode.Disposable {
  private readonly item: vscode.StatusBarItem;

  constructor() {
    this.item = vscode.window.createStatusBarItem("tiercel.status", vscode.StatusBarAlignment.Right, 100);
    this.item.name = "Tiercel";
    this.item.command = "tiercel.showMenu";
    this.show({ state: "starting" });
    this.item.show();
  }

  show(state: State): void {
    const { icon, label, detail, problem } = look(state, (text, ...args) => vscode.l10n.t(text, ...args));
    this.item.text = `${icon} ${label}`;
    this.item.tooltip = `Tiercel: ${detail}`;
    this.item.accessibilityInformation = { label: `Tiercel: ${detail}` };
    this.item.backgroundColor = problem
      ? new vscode.ThemeColor("statusBarItem.warningBackground")
      : undefined;
  }

  dispose(): void {
    this.item.dispose();
  }
}

/** Offers what can be done now; runs what is picked. */
export async function showMenu(paused: boolean): Promise<void> {
  const { t } = vscode.l10n;
  const entries = [
    paused
      ? { label: `$(play) ${t("Resume")}`, command: "tiercel.resume" }
      : { label: `$(debug-pause) ${t("Pause")}`, command: "tiercel.pause" },
    { label: `$(refresh) ${t("Restart")}`, command: "tiercel.restart" },
    { label: `$(eye) ${t("Show What the Model Sees")}`, command: "tiercel.showContext" },
    { label: `$(output) ${t("Show Log")}`, command: "tiercel.showLog" },
  ];
  const picked = await vscode.window.showQuickPick(entries, { title: "Tiercel" });
  if (picked !== undefined) {
    await vscode.commands.executeCommand(picked.command);
  }
}
