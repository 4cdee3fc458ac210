/** Payloads and results as a page shows them: cut, and without secrets. */

const HIDDEN = '[redacted]';
const MAX_DEPTH = 64;

/** Whether a member of this name is hidden: without case, `_` and `-`. */
function isHidden(member: string, hidden: ReadonlySet<string>): boolean {
  return hidden.has(plainName(member));
}

export function plainName(member: string): string {
  return member.toLowerCase().replaceAll(/[_-]/g, '');
}

/** A copy in which members of these names, at any depth, are `[redacted]`. */
export function redacted(value: unknown, hidden: ReadonlySet<string>, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) return HIDDEN;
  if (Array.isArray(value)) return value.map((item) => redacted(item, hidden, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      isHidden(name, hidden) ? HIDDEN : redacted(member, hidden, depth + 1),
    ]),
  );
}

export interface Cut {
  /** Absent when it is cut. */
  readonly value?: unknown;
  /** The beginning of its JSON, when it is cut. */
  readonly text?: string;
  /** Of its JSON, when it is cut. */
  readonly bytes?: number;
}

/** The value, or the first bytes of its JSON when that is longer. */
export function cut(value: unknown, maxBytes: number | undefined): Cut {
  if (maxBytes === undefined || value === undefined) return { value };
  const json = JSON.stringify(value);
  const bytes = Buffer.byteLength(json);
  if (bytes <= maxBytes) return { value };
  // As of a stream that goes on: a character that was cut in two is left out.
  const text = new TextDecoder().decode(Buffer.from(json).subarray(0, maxBytes), { stream: true });
  return { text, bytes };
}
