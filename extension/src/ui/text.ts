/** What the status bar says, as a function of the state alone. */

import type { StatusParams } from "../protocol";

export type State = StatusParams | { state: "paused" } | { state: "thinking" };

export interface Look {
  icon: string;
  label: string;
  detail: string;
  problem: boolean;
}

/** `t` translates; its arguments replace {0}, {1}. */
export function look(state: State, t: (text: string, ...args: string[]) => string): Look {
  switch (state.state) {
    case "starting":
      return { icon: "$(loading~spin)", label: "Tiercel", detail: t("Starting"), problem: false };
    case "loading": {
      const percent = state.percent === null || state.percent === undefined ? "" : ` ${state.percent} %`;
      return {
        icon: "$(loading~spin)",
        label: `Tiercel${percent}`,
        detail: state.message ?? "",
        problem: false,
      };
    }
    case "ready":
      return { icon: "$(sparkle)", label: "Tiercel", detail: t("Ready"), problem: false };
    case "thinking":
      return { icon: "$(ellipsis)", label: "Tiercel", detail: t("Thinking"), problem: false };
    case "paused":
      return { icon: "$(debug-pause)", label: "Tiercel", detail: t("Paused"), problem: false };
    case "error":
      return {
        icon: "$(warning)",
        label: "Tiercel",
        detail: state.message ?? t("See the log"),
        problem: true,
      };
  }
}
