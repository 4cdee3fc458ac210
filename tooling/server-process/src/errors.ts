/** A server process ended, or could not be spawned, before it answered. The message holds the tail of its log. */
export class StartFailedError extends Error {
  override readonly name = 'StartFailedError';
  readonly code = 'ERR_START_FAILED';

  /** Whether another process has the port: with another one it would have worked. */
  get isPortTaken(): boolean {
    return /address already in use|failed listening on port/i.test(this.message);
  }
}

/** A condition did not become true in time. The message names the condition and what was seen last. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
  readonly code = 'ERR_DEADLINE';
}

/** The text of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
