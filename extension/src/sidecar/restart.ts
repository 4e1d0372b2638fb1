/** When a sidecar that has died is started again. */

const WINDOW_MS = 3 * 60_000;
const MOST_FAILURES = 5;
const FIRST_DELAY_MS = 250;

/**
 * Invariant: `failures` holds the times of the failures within the last three minutes, oldest first.
 */
export class RestartPolicy {
  private failures: number[] = [];

  /** Notes a failure; returns how many milliseconds to wait before the next start, or undefined to give up. */
  next(now: number): number | undefined {
    this.failures = [...this.failures.filter((time) => now - time < WINDOW_MS), now];
    if (this.failures.length >= MOST_FAILURES) {
      return undefined;
    }
    return this.failures.length === 1 ? 0 : FIRST_DELAY_MS * 2 ** (this.failures.length - 1);
  }

  /** Forgets all failures: the person has asked for a new start. */
  reset(): void {
    this.failures = [];
  }
}
