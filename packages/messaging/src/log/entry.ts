/**
 * An entry of a log on the wire: `<id>:<kind><ms since the epoch>:<payload>`. The server writes the head; ids are dense
 * within an epoch, and an instant is never less than the one before. Counted from the epoch, it takes 1 to 9 bytes instead of 13.
 * The payload is ours and opaque to the server: `<who, encoded>` NUL `<body as JSON>`; neither part can hold a NUL.
 *
 * | Kind | What | Payload |
 * |---|---|---|
 * | (none) | a message; an edit changes it where it stands | `<from>` NUL `<body>` |
 * | `E` | an edit | `<who>` NUL `<id of the message>` NUL `<body>` |
 * | `D` | a deletion | `<who>` NUL `<id of the message>` |
 * | `X` | the place of a deleted message | `<id of the deletion>` |
 */
import { decodeName, encodeName, requireName } from '@mortise/redis';
import { BodyTooLargeError, InvalidBodyError } from '../errors.js';
import { isDeeperThan, isOutOfStack, MAX_DEPTH } from './depth.js';

/** Ids of messages, both included. */
export interface IdRange {
  readonly fromId: number;
  readonly toId: number;
}

export type EntryKind = 'message' | 'edit' | 'delete' | 'deleted';

/** An entry as it was stored, without what it belongs to. */
export interface Entry<Body = unknown> {
  readonly id: number;
  readonly kind: EntryKind;
  /** In ms since 1970. */
  readonly sentAt: number;
  /** Empty for the place of a deleted message. */
  readonly from: string;
  /** Undefined for deletions. */
  readonly body: Body | undefined;
  /** Of an edit or a deletion: the message that it revises. Of the place of a deleted message: the deletion. */
  readonly revises: number | undefined;
}

const SEPARATOR = '\0';
const KINDS: Readonly<Record<string, EntryKind>> = { E: 'edit', D: 'delete', X: 'deleted' };

/** The id of an entry, without looking at the rest of it. O(1). */
export function entryId(entry: string): number {
  return Number.parseInt(entry, 10);
}

/**
 * Takes an entry apart. O(length).
 *
 * @param epoch Of the log, in ms since 1970: positive, not as it is stored.
 */
export function decodeEntry<Body = unknown>(entry: string, epoch: number): Entry<Body> {
  const colon = entry.indexOf(':');
  const letter = entry.charAt(colon + 1);
  const kind = KINDS[letter] ?? 'message';
  const instantAt = kind === 'message' ? colon + 1 : colon + 2;
  const payloadAt = entry.indexOf(':', instantAt) + 1;
  const id = Number(entry.slice(0, colon));
  const sentAt = epoch + Number(entry.slice(instantAt, payloadAt - 1));
  const payload = entry.slice(payloadAt);
  if (kind === 'deleted') {
    return { id, kind, sentAt, from: '', body: undefined, revises: Number(payload) };
  }
  const separator = payload.indexOf(SEPARATOR);
  const from = decodeName(payload.slice(0, separator));
  const rest = payload.slice(separator + 1);
  if (kind === 'message') return { id, kind, sentAt, from, body: parse<Body>(rest), revises: undefined };
  const end = rest.indexOf(SEPARATOR);
  const revises = Number(end < 0 ? rest : rest.slice(0, end));
  return { id, kind, sentAt, from, body: end < 0 ? undefined : parse<Body>(rest.slice(end + 1)), revises };
}

/** True where the place of a deleted message stands: readers skip it. */
export function isDeleted(entry: string): boolean {
  return entry.charAt(entry.indexOf(':') + 1) === 'X';
}

/**
 * The body as it is stored. Throws TypeError for what is no JSON value, ERR_BODY_TOO_LARGE above the limit, ERR_INVALID_BODY for
 * what is nested too deep.
 *
 * @param recipient Chat or mailbox, for the refusal.
 */
export function encodeBody(recipient: string, body: unknown, maxBytes: number): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(body) as string | undefined;
  } catch (error) {
    if (isOutOfStack(error)) throw new InvalidBodyError(recipient, MAX_DEPTH);
    throw error;
  }
  if (json === undefined) throw new TypeError(`body must be a JSON value, got ${typeof body}`);
  // A string of n characters has n to 3n bytes.
  if (json.length * 3 > maxBytes) {
    const bytes = Buffer.byteLength(json);
    if (bytes > maxBytes) throw new BodyTooLargeError(recipient, bytes, maxBytes);
  }
  if (isDeeperThan(json, MAX_DEPTH)) throw new InvalidBodyError(recipient, MAX_DEPTH);
  return json;
}

/** The name of somebody as it is stored. Throws TypeError or RangeError for what is no name. */
export function encodeMember(option: string, name: string): string {
  return encodeName(requireName(option, name));
}

/** The range, or undefined when it is empty. */
export function toRange(fromId: number, toId: number): IdRange | undefined {
  return fromId > 0 && fromId <= toId ? { fromId, toId } : undefined;
}

function parse<Body>(json: string): Body {
  return JSON.parse(json) as Body;
}
