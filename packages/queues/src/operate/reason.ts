const MAX_REASON_BYTES = 1_024;

/** Why a task is cancelled, as it is kept with it. */
export function requireReason(reason: unknown): string {
  if (typeof reason !== 'string') throw new TypeError(`reason must be a string, got ${typeof reason}`);
  const bytes = Buffer.byteLength(reason);
  if (bytes > MAX_REASON_BYTES) {
    throw new RangeError(`reason must have at most ${MAX_REASON_BYTES} bytes, got ${bytes}`);
  }
  return reason;
}
