/** The sidecar, started and ended, and the typed messages to and from it; vscode-languageclient carries them. */

import type { ChildProcess } from "node:child_process";
import * as vscode from "vscode";
import {
  CloseAction,
  ConnectionError,
  type DynamicFeature,
  ErrorAction,
  ErrorCodes,
  type ErrorHandler,
  LanguageClient,
  type LanguageClientOptions,
  ResponseError,
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
import { spawnSidecar } from "./process";
import { RestartPolicy } from "./restart";

const SHUTDOWN_MS = 2000;

export const SELECTOR = [
  { language: "python", scheme: "file" },
  { language: "python", scheme: "untitled" },
];

export interface Listener {
  status(status: StatusParams): void;
  update(update: UpdateParams): void;
  /** The process has ended; `givenUp` says that it is not started again by itself. */
  ended(givenUp: boolean): void;
  /** The process could not be started, or did not take what it was started with. */
  failed(reason: string): void;
}

/**
 * A language client without its own inline completions: Tiercel's grow while they are shown, which it cannot do. What
 * it has to say of failures goes to the log; the person is told once, by the status bar and one message of ours.
 */
class Client extends LanguageClient {
  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    const method = "registrationType" in feature ? feature.registrationType?.method : undefined;
    if (method !== "textDocument/inlineCompletion") {
      super.registerFeature(feature as StaticFeature);
    }
  }

  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/**
 * Invariant: at most one process runs, `child`. One that dies is started again as the RestartPolicy says, but none is
 * started after `stop`.
 */
export class Sidecar {
  private readonly policy = new RestartPolicy();
  private readonly client: Client;
  private child: ChildProcess | undefined;
  private stopped = false;

  constructor(
    python: string,
    root: string,
    private readonly log: vscode.LogOutputChannel,
    private readonly listener: Listener,
  ) {
    const options: LanguageClientOptions = {
      documentSelector: SELECTOR,
      outputChannel: log,
      initializationOptions: readSettings, // read at each start
      errorHandler: this.errorHandler(),
      initializationFailedHandler: (error) => {
        if (!isConnectionLost(error)) {
          listener.failed(error.message);
        }
        return false;
      },
    };
    const server = () => this.spawn(python, root);
    this.client = new Client("tiercel", "Tiercel", server, options);
    this.client.onNotification("tiercel/status", (params: StatusParams) => listener.status(params));
    this.client.onNotification("tiercel/update", (params: UpdateParams) => listener.update(params));
    this.client.onNotification("tiercel/needText", (params: NeedTextParams) =>
      this.sendWholeText(params.uri),
    );
  }

  /** Resolves when the sidecar answers; failures are told to the listener. */
  async start(): Promise<void> {
    try {
      await this.client.start();
    } catch (error) {
      this.log.debug(`The first start: ${error instanceof Error ? error.message : error}`);
    }
  }

  /** Ends the process: a hung one, or one that is only starting, at once. */
  async stop(): Promise<void> {
    this.stopped = true;
    const child = this.child;
    if (!this.client.isRunning()) {
      child?.kill("SIGKILL");
      return;
    }
    try {
      await this.client.stop(SHUTDOWN_MS);
      setTimeout(() => child?.kill("SIGKILL"), SHUTDOWN_MS).unref();
    } catch (error) {
      this.log.warn(`The sidecar is killed: ${error instanceof Error ? error.message : error}`);
      child?.kill("SIGKILL");
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

  private async spawn(python: string, root: string): Promise<ChildProcess> {
    if (this.stopped) {
      throw new Error("the sidecar has been stopped");
    }
    try {
      const child = await spawnSidecar(python, root);
      this.child = child;
      if (this.stopped) {
        child.kill("SIGKILL");
      }
      return child;
    } catch (error) {
      this.listener.failed(error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  private errorHandler(): ErrorHandler {
    const { log, listener, policy } = this;
    return {
      error: (error) => {
        log.error(`The connection to the sidecar failed: ${error.message}`);
        return { action: ErrorAction.Continue, handled: true };
      },
      closed: async () => {
        const delay = this.stopped ? undefined : policy.next(Date.now());
        if (!this.stopped) {
          listener.ended(delay === undefined);
        }
        if (delay === undefined) {
          log.error("The sidecar has ended and is not started again.");
          return { action: CloseAction.DoNotRestart, handled: true };
        }
        log.warn(`The sidecar has ended; it is started again in ${delay} ms.`);
        await new Promise((resolve) => setTimeout(resolve, delay));
        return { action: this.stopped ? CloseAction.DoNotRestart : CloseAction.Restart, handled: true };
      },
    };
  }
}

/** Whether an error says only that the process has gone, of which `closed` tells. */
function isConnectionLost(error: unknown): boolean {
  const lost: unknown[] = [
    ErrorCodes.PendingResponseRejected,
    ErrorCodes.ConnectionInactive,
    ErrorCodes.MessageWriteError,
  ];
  return error instanceof ResponseError ? lost.includes(error.code) : error instanceof ConnectionError;
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
