/** Wires the parts: the environment, the sidecar, the ghost text, the status bar. */

import * as vscode from "vscode";
import { InlineProvider } from "./completion/provider";
import type { StatusParams } from "./protocol";
import { Sidecar } from "./sidecar/client";
import { findEnvironment, setUp } from "./sidecar/environment";
import { ContextView } from "./ui/contextView";
import { StatusBar, showMenu } from "./ui/statusBar";

let running: Tiercel | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  running = new Tiercel(context.extensionUri.fsPath);
  context.subscriptions.push(running);
  await running.start();
}

export async function deactivate(): Promise<void> {
  await running?.stop();
}

/**
 * Invariant: `sidecar` is the only one that runs or is being started; `status` is what it has said last. Starts and
 * stops take their turns.
 */
class Tiercel implements vscode.Disposable {
  private readonly log = vscode.window.createOutputChannel("Tiercel", { log: true });
  private readonly bar = new StatusBar();
  private readonly contextView = new ContextView();
  private readonly provider: InlineProvider;
  private readonly disposables: vscode.Disposable[];
  private sidecar: Sidecar | undefined;
  private status: StatusParams = { state: "starting" };
  private thinking = false;
  private turn: Promise<void> = Promise.resolve();

  constructor(private readonly root: string) {
    this.provider = new InlineProvider(
      () => this.sidecar,
      (thinking) => {
        this.thinking = thinking;
        this.show();
      },
      this.log,
    );
    const command = vscode.commands.registerCommand;
    this.disposables = [
      this.provider,
      this.bar,
      this.contextView,
      this.log,
      command("tiercel.pause", () => this.setPaused(true)),
      command("tiercel.resume", () => this.setPaused(false)),
      command("tiercel.restart", () => this.restart()),
      command("tiercel.showLog", () => this.log.show()),
      command("tiercel.showContext", () => this.contextView.show(this.sidecar)),
      command("tiercel.showMenu", () => showMenu(this.provider.paused)),
      command("tiercel.dismiss", () => {
        this.provider.drop();
        return vscode.commands.executeCommand("editor.action.inlineSuggest.hide");
      }),
      vscode.workspace.onDidChangeConfiguration((event) => this.configure(event)),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) {
      disposable.dispose();
    }
  }

  start(): Promise<void> {
    return this.inTurn(() => this.startNow());
  }

  stop(): Promise<void> {
    return this.inTurn(() => this.stopNow());
  }

  private restart(): Promise<void> {
    return this.inTurn(async () => {
      await this.stopNow();
      this.setStatus({ state: "starting" });
      await this.startNow();
    });
  }

  private inTurn(step: () => Promise<void>): Promise<void> {
    this.turn = this.turn.then(step, step);
    return this.turn;
  }

  private async startNow(): Promise<void> {
    const environment = await findEnvironment(this.root, this.log);
    if ("problem" in environment) {
      this.setStatus({ state: "error", message: environment.problem });
      this.offer(environment.problem, environment.fix);
      return;
    }
    this.log.info(`The sidecar runs on ${environment.python}`);
    this.sidecar = new Sidecar(environment.python, this.root, this.log, {
      status: (status) => this.setStatus(status),
      update: (update) => this.provider.update(update),
      ended: (givenUp) => this.ended(givenUp),
      failed: (reason) => this.failed(reason),
    });
    // Not waited for: a sidecar that hangs at its start must not keep a restart waiting.
    this.sidecar.start();
  }

  private async stopNow(): Promise<void> {
    const sidecar = this.sidecar;
    this.sidecar = undefined;
    this.provider.drop();
    await sidecar?.stop();
  }

  private failed(reason: string): void {
    this.log.error(`The sidecar could not be started: ${reason}`);
    this.setStatus({
      state: "error",
      message: vscode.l10n.t("The sidecar could not be started: {0}", reason),
    });
  }

  private ended(givenUp: boolean): void {
    this.provider.drop();
    if (givenUp) {
      const problem = vscode.l10n.t("The sidecar keeps ending; the log says why.");
      this.setStatus({ state: "error", message: problem });
      this.offer(problem, "restart");
    } else {
      this.setStatus({ state: "starting" });
    }
  }

  /** One message, with the button that mends it. */
  private async offer(problem: string, fix: "setting" | "setup" | "restart"): Promise<void> {
    const { t } = vscode.l10n;
    const button = { setting: t("Open Setting"), setup: t("Set Up"), restart: t("Restart") }[fix];
    if ((await vscode.window.showErrorMessage(problem, button)) !== button) {
      return;
    }
    if (fix === "setting") {
      await vscode.commands.executeCommand("workbench.action.openSettings", "tiercel.python");
    } else if (fix === "restart" || (await setUp(this.root, this.log))) {
      await this.restart();
    }
  }

  private async configure(event: vscode.ConfigurationChangeEvent): Promise<void> {
    if (event.affectsConfiguration("tiercel.python")) {
      await this.restart();
    } else if (event.affectsConfiguration("tiercel")) {
      this.sidecar?.configure();
    }
  }

  private setPaused(paused: boolean): void {
    this.provider.paused = paused;
    this.provider.drop();
    this.show();
  }

  private setStatus(status: StatusParams): void {
    this.status = status;
    this.show();
  }

  private show(): void {
    if (this.provider?.paused && this.status.state !== "error") {
      this.bar.show({ state: "paused" });
    } else if (this.thinking && this.status.state === "ready") {
      this.bar.show({ state: "thinking" });
    } else {
      this.bar.show(this.status);
    }
  }
}
