/**
 * A task as the hash `tasks` holds it; to Lua it is bytes but for the head.
 *
 *   u8 lane + flags · u16 attempts · f64 enqueued at (ms) | u16 length · group, if GROUPED | f64 ms, if REMEMBERED |
 *   u16 length · name | u16 length · extras as JSON | payload as JSON
 *
 * The low four bits of the first byte are the lane; the flags are those that Lua asks for. On its way to the enqueue script
 * the f64 says when the task may run. Extras (headers, a backoff of its own) are empty for most tasks and then take two
 * bytes. A task that has succeeded without a result comes to have its end before all this: see seal.ts.
 */
import { PayloadTooLargeError } from '../errors.js';
import type { Backoff } from '../options.js';
import { requireWhole, stringifyPayload } from './payload.js';

/** Flags in the first byte. */
export const GROUPED = 0x10;
/** The parent of the task has to be told when it ends. */
export const CHILD = 0x20;
/** The task has children. */
export const PARENT = 0x40;
/** The id is refused for a time, also when the task is gone. */
export const REMEMBERED = 0x80;
const LANE = 0x0f;

/** Whom a child has to tell of its end. */
export interface ParentAddress {
  readonly queue: string;
  readonly id: string;
  /** It may decide in which shard the parent lies. */
  readonly group?: string;
  /** 8 bytes in hexadecimal: the parent's id may come to be used again. */
  readonly flow: string;
  /** Which of the children it is. */
  readonly index: number;
}

export interface Extras {
  readonly headers?: Readonly<Record<string, string>>;
  readonly backoff?: Required<Backoff>;
  /** ms from the start of an attempt. */
  readonly timeoutMs?: number;
  /** ms from when it was enqueued: not started after that. */
  readonly expiresInMs?: number;
  /** Whom to tell when the task has ended. */
  readonly parent?: ParentAddress;
  /** Of the root of a flow that was given an id: tells its tree from others. */
  readonly tree?: string;
}

export interface TaskRecord {
  readonly lane: number;
  readonly flags: number;
  readonly group: string | undefined;
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
  readonly group?: string | undefined;
  /** For how long the id is refused, ms. */
  readonly dedupMs?: number | undefined;
  /** CHILD, PARENT. */
  readonly flags?: number;
}

const WHEN_AT = 3;
const HEAD_BYTES = 11;

/** The record with lane 0; `setLane` sets another. Throws the coded errors of payloads. O(bytes). */
export function encodeRecord(
  { name, payload, attempts, when, extras, group, dedupMs, flags = 0 }: NewRecord,
  maxBytes: number,
): Buffer {
  const json = stringifyPayload(name, payload);
  const bytes = Buffer.byteLength(json);
  if (bytes > maxBytes) throw new PayloadTooLargeError(name, bytes, maxBytes);
  requireWhole(name, payload);
  const nameBytes = Buffer.byteLength(name);
  const more = extras ? JSON.stringify(extras) : '';
  const moreBytes = Buffer.byteLength(more);
  const groupBytes = group === undefined ? 0 : 2 + Buffer.byteLength(group);
  const nameAt = HEAD_BYTES + groupBytes + (dedupMs === undefined ? 0 : 8) + 2;
  const nameEnd = nameAt + nameBytes;
  const record = Buffer.allocUnsafe(nameEnd + 2 + moreBytes + bytes);
  const grouped = group === undefined ? 0 : GROUPED;
  record.writeUInt8(flags | grouped | (dedupMs === undefined ? 0 : REMEMBERED), 0);
  record.writeUInt16BE(attempts, 1);
  record.writeDoubleBE(when, 3);
  if (group !== undefined) {
    record.writeUInt16BE(groupBytes - 2, HEAD_BYTES);
    record.write(group, HEAD_BYTES + 2);
  }
  if (dedupMs !== undefined) record.writeDoubleBE(dedupMs, HEAD_BYTES + groupBytes);
  record.writeUInt16BE(nameBytes, nameAt - 2);
  record.write(name, nameAt);
  record.writeUInt16BE(moreBytes, nameEnd);
  record.write(more, nameEnd + 2);
  record.write(json, nameEnd + 2 + moreBytes);
  return record;
}

/** `at`: where the record begins. */
export function setLane(record: Buffer, lane: number, at = 0): void {
  record[at] = (record[at]! & ~LANE) | lane;
}

/** When the task may run, as `resolveWhen` gives it: only before it is stored. */
export function whenOf(record: Buffer): number {
  return record.readDoubleBE(WHEN_AT);
}

/** Puts the instant of enqueuing, ms, in its place. */
export function setEnqueuedAt(record: Buffer, instant: number, at = 0): void {
  record.writeDoubleBE(instant, at + WHEN_AT);
}

export function decodeRecord(record: Buffer): TaskRecord {
  const flags = record.readUInt8(0) & ~LANE;
  const groupEnd = HEAD_BYTES + (flags & GROUPED ? 2 + record.readUInt16BE(HEAD_BYTES) : 0);
  const nameAt = groupEnd + (flags & REMEMBERED ? 8 : 0) + 2;
  const nameEnd = nameAt + record.readUInt16BE(nameAt - 2);
  const extrasEnd = nameEnd + 2 + record.readUInt16BE(nameEnd);
  const extras = record.toString('utf8', nameEnd + 2, extrasEnd);
  return {
    lane: record.readUInt8(0) & LANE,
    flags,
    group: flags & GROUPED ? record.toString('utf8', HEAD_BYTES + 2, groupEnd) : undefined,
    attempts: record.readUInt16BE(1),
    enqueuedAt: record.readDoubleBE(3),
    name: record.toString('utf8', nameAt, nameEnd),
    extras: extras === '' ? {} : (JSON.parse(extras) as Extras),
    payload: record.toString('utf8', extrasEnd),
  };
}
