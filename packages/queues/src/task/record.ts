/**
 * A task as stored in the hash `tasks`; Lua reads the head only.
 *
 *   u8 priority + flags · u16 attempts · f64 enqueued at (ms) | u16 length · group, if GROUPED | f64 ms, if DEDUPLICATED |
 *   u16 length · name | u16 length · extras as JSON | payload as JSON
 *
 * The low four bits of the first byte are the index of the priority, the others are flags for Lua. Before the enqueue
 * script stores the record, the f64 is the time at which the task may run. Extras (headers, a backoff of its own) are empty
 * for most tasks and then take two bytes. A task that succeeded without a result may get its end before all this: see
 * compact-record.ts.
 */
import type { Codecs } from '@mortise/redis';
import { looksEncoded, wholeJson } from '@mortise/redis';
import { InvalidPayloadError } from '../errors.js';
import type { ResolvedBackoff } from '../options.js';

/** Flags in the first byte. */
export const GROUPED = 0x10;
/** The task has a parent, which gets a notice of its end. */
export const CHILD = 0x20;
/** The task has children. */
export const PARENT = 0x40;
/** The id is refused for a time, even after the task is removed. */
export const DEDUPLICATED = 0x80;
const PRIORITY = 0x0f;

/** The parent to which a child reports its end. */
export interface ParentAddress {
  readonly queue: string;
  readonly id: string;
  /** May determine the shard of the parent. */
  readonly group?: string;
  /** 8 bytes in hexadecimal, since the parent's id may be reused. */
  readonly flow: string;
  /** Its position among the children. */
  readonly index: number;
}

/** Children of a parent: how many with derived ids, or a given id; with its queue, if that is not the parent's. See child-list.ts. */
export type ChildRun = number | string | readonly [queue: string, what: number | string];

export interface Extras {
  /** In a ranked queue; always the first field. See task.rank.part.lua. */
  readonly rank?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly backoff?: ResolvedBackoff;
  /** ms from the start of an attempt. */
  readonly timeoutMs?: number;
  /** ms from the enqueue; the first attempt does not start later. */
  readonly expiresInMs?: number;
  /** The parent that gets the report of its end. */
  readonly parent?: ParentAddress;
  /** Only for the root of a flow with a given id: a hash that tells its tree from others. */
  readonly tree?: string;
  /** Only for a task with children: their addresses, unless these are too long. */
  readonly children?: readonly ChildRun[];
}

export interface TaskRecord {
  readonly priorityIndex: number;
  readonly flags: number;
  readonly group: string | undefined;
  readonly attempts: number;
  readonly enqueuedAt: number;
  readonly name: string;
  readonly extras: Extras;
  /** JSON text as it is stored, perhaps encoded. */
  readonly payload: string;
}

/** The fields of a task before it is stored. */
export interface NewRecord {
  readonly name: string;
  readonly payload: unknown;
  readonly attempts: number;
  /** As `resolveWhen` returns it. */
  readonly when: number;
  readonly extras: Extras | undefined;
  readonly group?: string | undefined;
  /** ms during which the id is refused. */
  readonly dedupMs?: number | undefined;
  /** CHILD or PARENT. */
  readonly flags?: number;
}

/** A payload as JSON, and as it is stored. Throws the errors of payloads. `name`: of the task, for them. */
export function payloadText(
  name: string,
  payload: unknown,
  maxBytes: number,
  codecs: Codecs | undefined,
): { readonly json: string; readonly stored: string } {
  const json = wholeJson(
    payload,
    maxBytes,
    ({ text, bytes }) => new InvalidPayloadError(name, text, bytes === undefined ? {} : { bytes, maxBytes }),
  );
  if (!codecs) return { json, stored: json };
  if (looksEncoded(json))
    throw new InvalidPayloadError(name, 'begins with $codec, which marks encoded payloads');
  return { json, stored: codecs.encode(json) };
}

const WHEN_AT = 3;
const HEAD_BYTES = 11;

/** Writes a record into the buffer that is sent. */
export interface Writable {
  readonly length: number;
  copy(target: Buffer, at: number): unknown;
}

/**
 * A checked record with priority 0; `setPriority` sets another. Its bytes are written into the buffer that is sent: an
 * array for each task would cost a tenth of an enqueue, and in a call of many the server works while later records are
 * written.
 */
export class RecordDraft implements Writable {
  readonly length: number;
  /** JSON text before its encoding. */
  readonly payload: string;
  /** JSON text as it is stored. */
  readonly stored: string;
  readonly #flags: number;
  readonly #attempts: number;
  readonly #when: number;
  readonly #group: string | undefined;
  readonly #dedupMs: number | undefined;
  readonly #name: string;
  /** Extras as JSON. */
  readonly #more: string;

  /** Reads the payload now. Throws the errors of payloads. O(bytes). */
  constructor(
    { name, payload, attempts, when, extras, group, dedupMs, flags = 0 }: NewRecord,
    maxBytes: number,
    codecs?: Codecs,
  ) {
    const { json, stored } = payloadText(name, payload, maxBytes, codecs);
    this.payload = json;
    this.stored = stored;
    const bytes = Buffer.byteLength(this.stored);
    const more = extras ? JSON.stringify(extras) : '';
    const groupBytes = group === undefined ? 0 : 2 + Buffer.byteLength(group);
    const windowBytes = dedupMs === undefined ? 0 : 8;
    const nameBytes = 2 + Buffer.byteLength(name);
    this.length = HEAD_BYTES + groupBytes + windowBytes + nameBytes + 2 + Buffer.byteLength(more) + bytes;
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
    target.write(this.stored, end);
  }

  encode(): Buffer {
    const record = Buffer.allocUnsafe(this.length);
    this.copy(record, 0);
    return record;
  }
}

/** Returns the end offset. */
function writeText(target: Buffer, text: string, at: number): number {
  const bytes = text === '' ? 0 : target.write(text, at + 2);
  return target.writeUInt16BE(bytes, at) + bytes;
}

/** `at`: offset of the record. */
export function setPriority(record: Buffer, priorityIndex: number, at = 0): void {
  record[at] = (record[at]! & ~PRIORITY) | priorityIndex;
}

/** When the task may run, as `resolveWhen` returns it; only before the record is stored. */
export function whenOf(record: Buffer, at: number): number {
  return record.readDoubleBE(at + WHEN_AT);
}

/** Sets the enqueue time, ms. */
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
