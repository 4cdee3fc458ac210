/**
 * A task as the hash `tasks` holds it; to Lua it is bytes but for the head.
 *
 *   u8 priority + flags · u16 attempts · f64 enqueued at (ms) | u16 length · group, if GROUPED | f64 ms, if DEDUPLICATED |
 *   u16 length · name | u16 length · extras as JSON | payload as JSON
 *
 * The low four bits of the first byte are the index of the priority; the flags are those that Lua asks for. On its way to the enqueue script
 * the f64 says when the task may run. Extras (headers, a backoff of its own) are empty for most tasks and then take two
 * bytes. A task that has succeeded without a result comes to have its end before all this: see compact-record.ts.
 */
import { InvalidPayloadError } from '../errors.js';
import type { Backoff } from '../options.js';
import { requireWhole, stringifyPayload } from './payload.js';

/** Flags in the first byte. */
export const GROUPED = 0x10;
/** The task has a parent, which gets a notice of its end. */
export const CHILD = 0x20;
/** The task has children. */
export const PARENT = 0x40;
/** The id is refused for a time, also after the task. */
export const DEDUPLICATED = 0x80;
const PRIORITY = 0x0f;

/** Where a child reports its end. */
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
  /** Where to report the end of the task. */
  readonly parent?: ParentAddress;
  /** Of the root of a flow that was given an id: tells its tree from others. */
  readonly tree?: string;
}

export interface TaskRecord {
  readonly priorityIndex: number;
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

/** A record, or what is going to be one: written where it is sent from. */
export interface Writable {
  readonly length: number;
  copy(target: Buffer, at: number): unknown;
}

/**
 * A record that has been checked, with priority 0; `setPriority` sets another. Its bytes come about where they are sent from: an array for
 * each task would cost a tenth of an enqueue, and in a call of many the server works while the others are written.
 */
export class RecordDraft implements Writable {
  readonly length: number;
  /** JSON text. */
  readonly payload: string;
  readonly #flags: number;
  readonly #attempts: number;
  readonly #when: number;
  readonly #group: string | undefined;
  readonly #dedupMs: number | undefined;
  readonly #name: string;
  /** Extras as JSON. */
  readonly #more: string;

  /** Takes the payload as it is now. Throws the coded errors of payloads. O(bytes). */
  constructor(
    { name, payload, attempts, when, extras, group, dedupMs, flags = 0 }: NewRecord,
    maxBytes: number,
  ) {
    const json = stringifyPayload(name, payload);
    const bytes = Buffer.byteLength(json);
    if (bytes > maxBytes)
      throw new InvalidPayloadError(name, `has ${bytes} bytes, the limit is ${maxBytes}`, {
        bytes,
        maxBytes,
      });
    requireWhole(name, payload);
    const more = extras ? JSON.stringify(extras) : '';
    const groupBytes = group === undefined ? 0 : 2 + Buffer.byteLength(group);
    const windowBytes = dedupMs === undefined ? 0 : 8;
    const nameBytes = 2 + Buffer.byteLength(name);
    this.length = HEAD_BYTES + groupBytes + windowBytes + nameBytes + 2 + Buffer.byteLength(more) + bytes;
    this.payload = json;
    this.#flags = flags | (group === undefined ? 0 : GROUPED) | (dedupMs === undefined ? 0 : DEDUPLICATED);
    this.#attempts = attempts;
    this.#when = when;
    this.#group = group;
    this.#dedupMs = dedupMs;
    this.#name = name;
    this.#more = more;
  }

  copy(target: Buffer, at: number): void {
    target.writeUInt8(this.#flags, at);
    target.writeUInt16BE(this.#attempts, at + 1);
    target.writeDoubleBE(this.#when, at + WHEN_AT);
    let end = at + HEAD_BYTES;
    if (this.#group !== undefined) end = writeText(target, this.#group, end);
    if (this.#dedupMs !== undefined) end = target.writeDoubleBE(this.#dedupMs, end);
    end = writeText(target, this.#name, end);
    end = writeText(target, this.#more, end);
    target.write(this.payload, end);
  }

  encode(): Buffer {
    const record = Buffer.allocUnsafe(this.length);
    this.copy(record, 0);
    return record;
  }
}

/** Returns where it ends. */
function writeText(target: Buffer, text: string, at: number): number {
  const bytes = text === '' ? 0 : target.write(text, at + 2);
  return target.writeUInt16BE(bytes, at) + bytes;
}

/** `at`: where the record begins. */
export function setPriority(record: Buffer, priorityIndex: number, at = 0): void {
  record[at] = (record[at]! & ~PRIORITY) | priorityIndex;
}

/** When the task may run, as `resolveWhen` gives it: only before it is stored. */
export function whenOf(record: Buffer, at: number): number {
  return record.readDoubleBE(at + WHEN_AT);
}

/** Puts the instant of enqueuing, ms, in its place. */
export function setEnqueuedAt(record: Buffer, instant: number, at = 0): void {
  record.writeDoubleBE(instant, at + WHEN_AT);
}

export function decodeRecord(record: Buffer): TaskRecord {
  const flags = record.readUInt8(0) & ~PRIORITY;
  const groupEnd = HEAD_BYTES + (flags & GROUPED ? 2 + record.readUInt16BE(HEAD_BYTES) : 0);
  const nameAt = groupEnd + (flags & DEDUPLICATED ? 8 : 0) + 2;
  const nameEnd = nameAt + record.readUInt16BE(nameAt - 2);
  const extrasEnd = nameEnd + 2 + record.readUInt16BE(nameEnd);
  const extras = record.toString('utf8', nameEnd + 2, extrasEnd);
  return {
    priorityIndex: record.readUInt8(0) & PRIORITY,
    flags,
    group: flags & GROUPED ? record.toString('utf8', HEAD_BYTES + 2, groupEnd) : undefined,
    attempts: record.readUInt16BE(1),
    enqueuedAt: record.readDoubleBE(3),
    name: record.toString('utf8', nameAt, nameEnd),
    extras: extras === '' ? {} : (JSON.parse(extras) as Extras),
    payload: record.toString('utf8', extrasEnd),
  };
}
