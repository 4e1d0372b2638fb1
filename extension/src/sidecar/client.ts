/** The sidecar's process and the typed messages to and from it; vscode-languageclient carries them. */

import * as path from "node:path";
import * as vscode from "vscode";
import {
  CloseAction,
  type DynamicFeature,
  ErrorAction,
  type ErrorHandler,
  LanguageClient,
  type LanguageClientOptions,
  type ServerOptions,
  type StaticFeature,
} from "vscode-languageclient/node";
import type {
  CancelCompletionParams,
  CompleteParams,
  CompleteResult,
  ContextParams,
  ContextResult,
  NeedTextParams,
  Settings,
  StatusParams,
  UpdateParams,
} from "../protocol";
import { RestartPolicy } from "./restart";

export const SELECTOR = [
  { language: "python", scheme: "file" },
  { language: "python", scheme: "untitled" },
];

export interface Listener {
  status(status: StatusParams): void;
  update(update: UpdateParams): void;
  /** The process has ended; `givenUp` says that it is not started again by itself. */
  ended(givenUp: boolean): void;
}

/** A language client without its own inline completions: Tiercel's grow while they are shown, which it cannot do. */
class Client extends LanguageClient {
  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    const method = "registrationType" in feature ? feature.registrationType?.method : undefined;
    if (method !== "textDocument/inlineCompletion") {
      super.registerFeature(feature as StaticFeature);
    }
  }
}

/**
 * Invariant: at most one sidecar process runs; `stop` ends it, and a process that dies is started again as the
 * RestartPolicy says.
 */
export class Sidecar {
  private readonly policy = new RestartPolicy();
  private readonly client: Client;

  constructor(python: string, root: string, log: vscode.LogOutputChannel, listener: Listener) {
    const server: ServerOptions = {
      command: python,
      // -P, and a folder of ours: no module of the workspace can stand in for one of the sidecar's.
      args: ["-P", "-m", "tiercel", "serve"],
      options: {
        cwd: root,
        env: { ...process.env, PYTHONPATH: path.join(root, "sidecar"), PYTHONUTF8: "1" },
      },
    };
    const options: LanguageClientOptions = {
      documentSelector: SELECTOR,
      outputChannel: log,
      initializationOptions: readSettings(),
      errorHandler: this.errorHandler(log, listener),
      initializationFailedHandler: () => false,
    };
    this.client = new Client("tiercel", "Tiercel", server, options);
    this.client.onNotification("tiercel/status", (params: StatusParams) => listener.status(params));
    this.client.onNotification("tiercel/update", (params: UpdateParams) => listener.update(params));
    this.client.onNotification("tiercel/needText", (params: NeedTextParams) =>
      this.sendWholeText(params.uri),
    );
  }

  start(): Promise<void> {
    return this.client.start();
  }

  async stop(): Promise<void> {
    if (this.client.isRunning()) {
      await this.client.stop(2000);
    }
  }

  /** Undefined while the process is not there. */
  async complete(
    params: CompleteParams,
    token: vscode.CancellationToken,
  ): Promise<CompleteResult | undefined> {
    if (!this.client.isRunning()) {
      return undefined;
    }
    return this.client.sendRequest<CompleteResult>("tiercel/complete", params, token);
  }

  /** What the model would read at a place, told to a person; "" where there is nothing to tell. */
  async context(params: ContextParams): Promise<string> {
    return this.client.isRunning()
      ? (await this.client.sendRequest<ContextResult>("tiercel/context", params)).text
      : "";
  }

  cancel(params: CancelCompletionParams): void {
    if (this.client.isRunning()) {
      this.client.sendNotification("tiercel/cancel", params);
    }
  }

  configure(): void {
    if (this.client.isRunning()) {
      this.client.sendNotification("workspace/didChangeConfiguration", { settings: readSettings() });
    }
  }

  private sendWholeText(uri: string): void {
    const document = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri);
    if (document !== undefined) {
      const converter = this.client.code2ProtocolConverter;
      this.client.sendNotification("textDocument/didClose", converter.asCloseTextDocumentParams(document));
      this.client.sendNotification("textDocument/didOpen", converter.asOpenTextDocumentParams(document));
    }
  }

  private errorHandler(log: vscode.LogOutputChannel, listener: Listener): ErrorHandler {
    return {
      error: (error) => {
        log.error(`The connection to the sidecar failed: ${error.message}`);
        return { action: ErrorAction.Continue, handled: true };
      },
      closed: async () => {
        const delay = this.policy.next(Date.now());
        listener.ended(delay === undefined);
        if (delay === undefined) {
          log.error("The sidecar has ended five times within three minutes; it is not started again.");
          return { action: CloseAction.DoNotRestart, handled: true };
        }
        log.warn(`The sidecar has ended; it is started again in ${delay} ms.`);
        await new Promise((resolve) => setTimeout(resolve, delay));
        return { action: CloseAction.Restart, handled: true };
      },
    };
  }
}

/** The settings that the sidecar knows, as package.json documents them. */
function readSettings(): Settings {
  const configuration = vscode.workspace.getConfiguration("tiercel");
  return {
    model: {
      path: configuration.get("model.path"),
      threads: configuration.get("model.threads"),
      device: configuration.get("model.device"),
    },
    completion: {
      maxNewTokens: configuration.get("completion.maxNewTokens"),
      promptTokens: configuration.get("completion.promptTokens"),
    },
    index: {
      interpreter: configuration.get("index.interpreter"),
      exclude: configuration.get("index.exclude"),
      maxFileSize: configuration.get("index.maxFileSize"),
      workers: configuration.get("index.workers"),
      pollSeconds: configuration.get("index.pollSeconds"),
    },
  };
}
