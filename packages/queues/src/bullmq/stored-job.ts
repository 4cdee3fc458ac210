/**
 * A job as the engine stores it. Data is the payload of a task. Fields that a task lacks travel in one header, as JSON; a plain
 * job has none. `s` counts the starts that ended, `a` those that count as attempts.
 */
import { decodeRecord } from '../task/record.js';
import type { Extras } from '../task/record.js';
import type { JobsOptions, JobState } from './types.js';

const HEADER = 'bullmq';
/** In the order of the queue: jobs without a priority come first. */
export const LEVELS = ['wait', 'prioritized'] as const;
/** The layer counts attempts; the engine never buries a job. */
const ATTEMPTS = 65_535;
const HEAD_BYTES = 11;
const WHEN_AT = 3;
/** Instants after the ranks of task.rank.part.lua are delays: a job is delayed until a worker places it. */
const RANKS_END = 2_097_152_000;

/** The fields of a job beside its data. */
export interface JobDetails {
  readonly o?: JobsOptions;
  readonly d?: number;
  readonly p?: number;
  readonly t?: number;
  readonly r?: string;
  /** Its parent: id, qualified name of the queue, and what its failure does. */
  readonly pa?: StoredParent;
  readonly a?: number;
  readonly s?: number;
  /** How many times it has stalled. */
  readonly sc?: number;
  readonly st?: readonly string[];
  readonly fr?: string;
  readonly pb?: string;
  /** When its last start that has ended began. */
  readonly po?: number;
  /** It has children. */
  readonly c?: 1;
}

/** Those of a job without options. */
export const PLAIN: JobDetails = {};

export interface StoredParent {
  readonly id: string;
  readonly queueKey: string;
  readonly fpof?: true;
  readonly rdof?: true;
  readonly idof?: true;
  readonly cpof?: true;
}

export interface StoredJob {
  readonly id: string;
  readonly name: string;
  /** JSON */
  readonly data: string;
  readonly details: JobDetails;
  readonly enqueuedAt: number;
  readonly level: number;
  readonly state: JobState;
  readonly finishedOn?: number | undefined;
  /** JSON */
  readonly returnvalue?: string | undefined;
  readonly failedReason?: string | undefined;
  /** JSON */
  readonly progress?: string | undefined;
  /** By the engine, of the running or last attempt. */
  readonly attempt: number;
  /** Extras as stored. */
  readonly extras: string;
}

export function encodeJob(name: string, data: string, extras: string, level: number, when: number): Buffer {
  const nameBytes = Buffer.byteLength(name);
  const extrasBytes = Buffer.byteLength(extras);
  const record = Buffer.allocUnsafe(HEAD_BYTES + 4 + nameBytes + extrasBytes + Buffer.byteLength(data));
  record.writeUInt8(level, 0);
  record.writeUInt16BE(ATTEMPTS, 1);
  record.writeDoubleBE(when, WHEN_AT);
  record.writeUInt16BE(nameBytes, HEAD_BYTES);
  record.write(name, HEAD_BYTES + 2);
  const at = HEAD_BYTES + 2 + nameBytes;
  record.writeUInt16BE(extrasBytes, at);
  record.write(extras, at + 2);
  record.write(data, at + 2 + extrasBytes);
  return record;
}

/** Extras as JSON; '' for a plain job. */
export function encodeDetails(details: JobDetails): string {
  const rank = details.p ? { rank: details.p } : {};
  for (const _ in details) return JSON.stringify({ ...rank, headers: { [HEADER]: JSON.stringify(details) } });
  return '';
}

export function decodeDetails(headers: Extras['headers']): JobDetails {
  const text = headers?.[HEADER];
  return text === undefined ? PLAIN : (JSON.parse(text) as JobDetails);
}

export type StoredReply = readonly [
  record: Buffer,
  state: Buffer,
  instant: Buffer,
  last: Buffer,
  progress: Buffer,
];

export function readStored(id: string, [bytes, state, instant, last, progress]: StoredReply): StoredJob {
  const record = decodeRecord(bytes);
  const details = decodeDetails(record.extras.headers);
  const kind = last.length > 0 ? String.fromCharCode(last[0]!) : '';
  const attempt = kind === 'A' ? last.readUInt16BE(5) : last.length >= HEAD_BYTES ? last.readUInt16BE(9) : 0;
  const isEnded = kind === 'S' || kind === 'D';
  return {
    id,
    name: record.name,
    data: record.payload,
    details,
    enqueuedAt: record.enqueuedAt,
    level: record.priorityIndex,
    state:
      Number(instant) > RANKS_END && state.toString() === 'ready'
        ? 'delayed'
        : stateOf(state.toString(), record.priorityIndex),
    attempt,
    extras: encodeDetails(details),
    ...(isEnded && { finishedOn: last.readDoubleBE(1) }),
    ...(kind === 'S' && { returnvalue: last.toString('utf8', HEAD_BYTES) }),
    ...(progress.length > 0 && { progress: progress.toString() }),
  };
}

const STATES: Readonly<Record<string, JobState>> = {
  active: 'active',
  succeeded: 'completed',
  dead: 'failed',
  cancelled: 'failed',
  waiting: 'waiting-children',
  scheduled: 'delayed',
  retrying: 'delayed',
};

function stateOf(state: string, level: number): JobState {
  return STATES[state] ?? (level === 0 ? 'waiting' : 'prioritized');
}
