/**
 * What handlers tell while they run: progress and lines of a log. All of one tick and shard travel in one call, and of the
 * progress of a task only the last. They count while the attempt holds its lease.
 */
import type { CommandArgument } from '@mortise/redis';
import { ArgumentRangeError, ArgumentTypeError, Coalescer, describeError } from '@mortise/redis';
import { heartbeaterReport } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import type { Attempt } from './attempt.js';
import type { Leases } from './leases.js';

export interface Note {
  readonly attempt: Attempt;
  /** JSON, or empty. */
  readonly progress: string;
  /** Each with a line break at its end. */
  readonly lines: string;
}

const MAX_BATCH = 200;
const MAX_BATCH_BYTES = 1024 * 1024;
const MAX_PROGRESS_BYTES = 16_384;
const MAX_LINE_CHARACTERS = 1_000;
/** As in heartbeater.report.lua: there is no use in sending more. */
const MAX_LINES = 100;

export class Notes {
  readonly #shard: Shard;
  readonly #leases: Leases;
  readonly #notes = new Coalescer<Notes, Note, boolean>((_, notes) => this.#send(notes), {
    maxBatch: MAX_BATCH,
    maxBytes: MAX_BATCH_BYTES,
    bytesOf: ({ progress, lines }) => progress.length + lines.length,
  });

  constructor(shard: Shard, leases: Leases) {
    this.#shard = shard;
    this.#leases = leases;
  }

  /** Resolves with whether it was stored; an attempt that has lost its lease is abandoned. */
  async add(note: Note): Promise<boolean> {
    await this.#shard.enableOptional();
    return this.#notes.submit(this, note);
  }

  async #send(notes: readonly Note[]): Promise<boolean[]> {
    const merged = new Map<Attempt, { progress: string; lines: string }>();
    for (const { attempt, progress, lines } of notes) {
      const before = merged.get(attempt) ?? { progress: '', lines: '' };
      merged.set(attempt, { progress: progress || before.progress, lines: before.lines + lines });
    }
    const entries: CommandArgument[] = [];
    for (const [{ taken }, { progress, lines }] of merged) {
      entries.push(taken.storedId, taken.token, progress, lines);
    }
    const shard = this.#shard;
    const { redis, keys } = shard;
    const { attempts, progress, logs, events } = keys.of;
    const reply = (await heartbeaterReport.run(
      redis,
      { attempts, progress, logs, events },
      { keepEvents: shard.settings.values.keepEvents, publish: shard.publish, entries },
    )) as string;
    const stored = new Set<Attempt>();
    for (const [index, attempt] of [...merged.keys()].entries()) {
      if (this.#leases.judge(attempt, reply[index])) stored.add(attempt);
    }
    return notes.map(({ attempt }) => stored.has(attempt));
  }
}

/** Throws TypeError for what is not JSON, RangeError for what is too large. */
export function progressJson(value: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    const reason = describeError(error).split('\n', 1)[0];
    throw new ArgumentTypeError(`progress is not JSON: ${reason}`, { cause: error });
  }
  if (json === undefined) throw new ArgumentTypeError(`progress must be JSON, got ${typeof value}`);
  const bytes = Buffer.byteLength(json);
  if (bytes <= MAX_PROGRESS_BYTES) return json;
  throw new ArgumentRangeError(
    `progress must have at most ${MAX_PROGRESS_BYTES} bytes as JSON, got ${bytes}`,
  );
}

/** The last lines of a text, each cut to its limit. */
export function linesOf(text: unknown): string {
  if (typeof text !== 'string') throw new ArgumentTypeError(`a line must be a string, got ${typeof text}`);
  const lines = text.split(/\r\n|\r|\n/).slice(-MAX_LINES);
  return lines.map((line) => `${cut(line)}\n`).join('');
}

function cut(line: string): string {
  return line.length > MAX_LINE_CHARACTERS ? `${line.slice(0, MAX_LINE_CHARACTERS)}…` : line;
}
