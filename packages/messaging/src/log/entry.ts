/**
 * An entry of a log as Redis stores it: `<id>:<kind><ms since the epoch>:<payload>`.
 *
 * The scripts write the part before the payload. Ids are dense within an epoch, and times never go back. Counted from the
 * epoch, a time takes 1 to 9 bytes instead of 13. The payload is opaque to the scripts: `<sender, encoded>` NUL `<body as
 * JSON>`; neither part can contain a NUL.
 *
 * | Kind | Meaning | Payload |
 * |---|---|---|
 * | (none) | a message; an edit replaces its body in place | `<from>` NUL `<body>` |
 * | `E` | an edit | `<from>` NUL `<id of the message>` NUL `<body>` |
 * | `D` | a deletion | `<from>` NUL `<id of the message>` |
 * | `X` | the tombstone of a deleted or expired message | `<id of the deletion>` |
 */
import type { Codecs, JsonProblem } from '@mortise/redis';
import { decodeName, encodeName, looksEncoded, readJson, requireName, wholeJson } from '@mortise/redis';
import { InvalidBodyError } from '../errors.js';

/** Ids of messages, both included. */
export interface IdRange {
  readonly fromId: number;
  readonly toId: number;
}

/** Of the instance that stores a body. */
export interface BodyContext {
  readonly limits: { readonly maxPayloadBytes: number };
  readonly codecs: Codecs | undefined;
}

export type EntryKind = 'message' | 'edit' | 'delete' | 'deleted';

/** A decoded entry. */
export interface Entry<Body = unknown> {
  readonly id: number;
  readonly kind: EntryKind;
  /** In ms since 1970. */
  readonly sentAt: number;
  /** Empty for a tombstone. */
  readonly from: string;
  /** Undefined for deletions. */
  readonly body: Body | undefined;
  /** The message that an edit or a deletion revises; of a tombstone, the deletion. */
  readonly revises: number | undefined;
}

const SEPARATOR = '\0';
const KINDS: Readonly<Record<string, EntryKind>> = { E: 'edit', D: 'delete', X: 'deleted' };

/** The id of an entry, read from its beginning. O(1). */
export function entryId(entry: string): number {
  return Number.parseInt(entry, 10);
}

/**
 * Decodes an entry. O(length).
 *
 * @param epoch Of the log, in ms since 1970: positive, unlike the stored one.
 */
export function decodeEntry<Body = unknown>(
  entry: string,
  epoch: number,
  codecs: Codecs | undefined,
): Entry<Body> {
  const colon = entry.indexOf(':');
  const kind = KINDS[entry.charAt(colon + 1)] ?? 'message';
  const timeAt = kind === 'message' ? colon + 1 : colon + 2;
  const payloadAt = entry.indexOf(':', timeAt) + 1;
  const id = Number(entry.slice(0, colon));
  const sentAt = epoch + Number(entry.slice(timeAt, payloadAt - 1));
  const payload = entry.slice(payloadAt);
  if (kind === 'deleted') {
    return { id, kind, sentAt, from: '', body: undefined, revises: Number(payload) };
  }
  const separator = payload.indexOf(SEPARATOR);
  const from = decodeName(payload.slice(0, separator));
  const content = payload.slice(separator + 1);
  const parse = (json: string): Body => readJson(json, codecs) as Body;
  if (kind === 'message') return { id, kind, sentAt, from, body: parse(content), revises: undefined };
  const end = content.indexOf(SEPARATOR);
  const revises = Number(end < 0 ? content : content.slice(0, end));
  return { id, kind, sentAt, from, body: end < 0 ? undefined : parse(content.slice(end + 1)), revises };
}

/** Whether the entry is a tombstone, which readers skip. */
export function isTombstone(entry: string): boolean {
  return entry.charAt(entry.indexOf(':') + 1) === 'X';
}

/**
 * The body as stored, encoded if there are codecs. Throws ERR_INVALID_BODY for a value that JSON doesn't represent fully or that is nested too deep,
 * ERR_BODY_TOO_LARGE above the limit.
 *
 * @param recipient Chat or mailbox, for the error.
 */
export function encodeBody(
  recipient: string,
  body: unknown,
  { limits: { maxPayloadBytes: maxBytes }, codecs }: BodyContext,
): string {
  const refuse = (problem: JsonProblem): Error => new InvalidBodyError(recipient, problem, maxBytes);
  const json = wholeJson(body, maxBytes, refuse);
  if (!codecs) return json;
  if (looksEncoded(json)) throw refuse({ text: 'begins with $codec, which marks encoded bodies' });
  return codecs.encode(json);
}

/** A name as stored. Throws TypeError or RangeError for an invalid name. */
export function encodeMember(option: string, name: string): string {
  return encodeName(requireName(option, name));
}

/** The range, or undefined when it is empty. */
export function toRange(fromId: number, toId: number): IdRange | undefined {
  return fromId > 0 && fromId <= toId ? { fromId, toId } : undefined;
}
