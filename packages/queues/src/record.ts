/**
 * A task as the hash `tasks` holds it; to Lua it is bytes but for the head.
 *
 *   u8 lane · u16 attempts · f64 enqueued at (ms) | u16 length · name | u16 length · extras as JSON | payload as JSON
 *
 * On its way to the enqueue script the f64 says when the task may run. Extras (headers, a backoff of its own) are empty
 * for most tasks and then take two bytes.
 */
import { describeError } from './describe-error.js';
import { InvalidPayloadError, PayloadTooLargeError } from './errors.js';
import type { Backoff } from './options.js';
import { MAX_DEPTH } from './options.js';

export interface Extras {
  readonly headers?: Readonly<Record<string, string>>;
  readonly backoff?: Required<Backoff>;
}

export interface TaskRecord {
  readonly lane: number;
  readonly attempts: number;
  readonly enqueuedAt: number;
  readonly name: string;
  readonly extras: Extras;
  /** JSON text, not parsed. */
  readonly payload: string;
}

/** What is known of a task before it is stored. */
export interface NewRecord {
  readonly name: string;
  readonly payload: unknown;
  readonly attempts: number;
  /** As `resolveWhen` gives it. */
  readonly when: number;
  readonly extras: Extras | undefined;
}

const HEAD_BYTES = 11;

/** The record with lane 0; `setLane` sets another. Throws the coded errors of payloads. O(bytes). */
export function encodeRecord({ name, payload, attempts, when, extras }: NewRecord, maxBytes: number): Buffer {
  const json = stringify(name, payload);
  const bytes = Buffer.byteLength(json);
  if (bytes > maxBytes) throw new PayloadTooLargeError(name, bytes, maxBytes);
  if (isDeeperThan(json, MAX_DEPTH))
    throw new InvalidPayloadError(name, `is nested deeper than ${MAX_DEPTH}`);
  const nameBytes = Buffer.byteLength(name);
  const more = extras ? JSON.stringify(extras) : '';
  const moreBytes = Buffer.byteLength(more);
  const nameEnd = HEAD_BYTES + 2 + nameBytes;
  const record = Buffer.allocUnsafe(nameEnd + 2 + moreBytes + bytes);
  record.writeUInt8(0, 0);
  record.writeUInt16BE(attempts, 1);
  record.writeDoubleBE(when, 3);
  record.writeUInt16BE(nameBytes, HEAD_BYTES);
  record.write(name, HEAD_BYTES + 2);
  record.writeUInt16BE(moreBytes, nameEnd);
  record.write(more, nameEnd + 2);
  record.write(json, nameEnd + 2 + moreBytes);
  return record;
}

export function setLane(record: Buffer, lane: number): void {
  record.writeUInt8(lane, 0);
}

export function decodeRecord(record: Buffer): TaskRecord {
  const nameEnd = HEAD_BYTES + 2 + record.readUInt16BE(HEAD_BYTES);
  const extrasEnd = nameEnd + 2 + record.readUInt16BE(nameEnd);
  const extras = record.toString('utf8', nameEnd + 2, extrasEnd);
  return {
    lane: record.readUInt8(0),
    attempts: record.readUInt16BE(1),
    enqueuedAt: record.readDoubleBE(3),
    name: record.toString('utf8', HEAD_BYTES + 2, nameEnd),
    extras: extras === '' ? {} : (JSON.parse(extras) as Extras),
    payload: record.toString('utf8', extrasEnd),
  };
}

function stringify(name: string, payload: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(payload);
  } catch (error) {
    throw new InvalidPayloadError(name, `is not JSON: ${describeError(error).split('\n', 1)[0]}`);
  }
  if (json === undefined) throw new InvalidPayloadError(name, `is not JSON: ${typeof payload}`);
  return json;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Counts brackets outside strings. A text of at most `2 * depth` characters cannot be that deep. */
function isDeeperThan(json: string, depth: number): boolean {
  if (json.length <= 2 * depth) return false;
  let open = 0;
  for (let index = 0; index < json.length; index += 1) {
    const code = json.charCodeAt(index);
    if (code === QUOTE) {
      // To the end of the string.
      for (index += 1; json.charCodeAt(index) !== QUOTE; index += 1) {
        if (json.charCodeAt(index) === BACKSLASH) index += 1;
      }
    } else if (code === 0x7b || code === 0x5b) {
      open += 1;
      if (open > depth) return true;
    } else if (code === 0x7d || code === 0x5d) open -= 1;
  }
  return false;
}
