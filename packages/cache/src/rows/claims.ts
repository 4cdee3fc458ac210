/** The two transitions of a row that refreshers make: from due to leased, and from leased to due again, or out. */
import { decodeName, encodeName, WaiterHub } from '@mortise/redis';
import type { CommandArgument, RedisClient } from '@mortise/redis';
import type { ShardKeys } from '../keys.js';
import type { RefreshOptions } from '../options.js';
import { refresherClaim, refresherCommit } from '../scripts.gen.js';
import type { RefreshedTable } from './refreshed-table.js';
import { hasValueLike } from './row-codec.js';
import type { EncodedRow } from './row-codec.js';
import { formatState, parseState } from './schedule-state.js';
import type { ScheduleState } from './schedule-state.js';

/** Rows under one lease. */
export interface Claim {
  readonly lease: string;
  /** When the lease began, in ms of the server's clock, as text. */
  readonly claimedAt: string;
  /** When the reply was there, on the clock of `performance.now()`. The claim may have been long on its way before. */
  readonly repliedAt: number;
  /** When the row in the middle was due. */
  readonly middle: number;
  /** For how long the first row had been due, in ms. */
  readonly lateMs: number;
  readonly ids: readonly string[];
  /** Of the rows, in the order of `ids`; null for what an evicted key leaves behind. */
  readonly states: readonly (ScheduleState | null)[];
  /** When a further row of the shard is due, or the pause of its source is over, in ms from now; Infinity: never. */
  readonly nextInMs: number;
  /** The source was down: these rows tell whether it is back. */
  readonly isProbe: boolean;
}

/** What became of a row: its encoded value; gone; failed to load; or not loaded, for a reason that isn't its own. */
export type Outcome = Pick<EncodedRow, 'head' | 'value'> | 'gone' | 'failed' | 'skipped';

/** What became of a batch. */
export interface Outcomes {
  /** Rows that are missing here were skipped. */
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /** No row could be loaded, and it isn't the rows. */
  readonly isSourceDown: boolean;
}

export interface Committed {
  /** When the first row of the shard is due, in ms; Infinity: none is. */
  readonly nextInMs: number;
  /** Rows whose lease still held. */
  readonly held: number;
  /** Rows whose value had not changed. */
  readonly unchanged: number;
}

/** What the script knows them by. */
const CODES = { gone: '-', failed: '!', skipped: '?' };
/** Bytes of values in one commit: bounds how long it holds the server. */
const MAX_COMMIT_BYTES = 1_048_576;
/** The expiry of the schedule is put off once in this part of it. */
const TOUCHES = 1_000;
/** Steps of the golden ratio fill the unit interval evenly, however many they are. */
const GOLDEN = 0.618_033_988_749_894_9;

/** A row that is late keeps its step as long as this part of its delay is left. */
const MIN_REST = 0.6;

/** A value that was removed by others or evicted is missed within this time, or when its row is refreshed if that is later. */
const CHECK_MS = 16_000;

/** How a loaded row is told to the script, in the order that the script wants. */
const KINDS = ['renewed', 'changed', 'checked', 'confirmed'] as const;
type Kind = (typeof KINDS)[number];

interface LoadedRow {
  readonly id: string;
  readonly dueAt: number;
  readonly state: string;
  readonly value: CommandArgument;
}

/** What one script call commits. */
class Part {
  readonly rows: Record<Kind, LoadedRow[]> = { renewed: [], changed: [], checked: [], confirmed: [] };
  readonly otherKeys: string[] = [];
  readonly others: CommandArgument[] = [];
  size = 0;
  firsts = 0;
  bytes = 0;

  get unchanged(): number {
    return this.rows.checked.length + this.rows.confirmed.length;
  }
}

/** Of one shard of a table. */
export class Claims {
  readonly #redis: RedisClient;
  readonly #table: RefreshedTable;
  readonly #keys: ShardKeys;
  readonly #options: RefreshOptions;
  #touchAt = 0;

  constructor(redis: RedisClient, table: RefreshedTable, keys: ShardKeys, options: RefreshOptions) {
    this.#redis = redis;
    this.#table = table;
    this.#keys = keys;
    this.#options = options;
  }

  /** Takes up to `batch` rows that are due. One round trip, O(log n + rows). */
  async claim(): Promise<Claim> {
    const { due, rows, source, lease: leaseKey } = this.#keys;
    const { batch, leaseMs, maxBackoffMs } = this.#options;
    const { idleMs } = this.#table.options;
    const isTouching = performance.now() >= this.#touchAt;
    const reply = await refresherClaim.run(
      this.#redis,
      { due, rows, source, lease: leaseKey },
      { limit: batch, leaseMs, idleMs, isTouching: isTouching ? 1 : 0, maxBackoffMs },
    );
    const repliedAt = performance.now();
    if (isTouching) this.#touchAt = repliedAt + idleMs / TOUCHES;
    const [lease, claimedAt, middle, lateMs, nextInMs, isProbe, ids, states] = reply as [
      string,
      string,
      string,
      number,
      number,
      number,
      string[],
      (string | null)[],
    ];
    return {
      lease,
      claimedAt,
      repliedAt,
      middle: Number(middle),
      lateMs,
      nextInMs: nextInMs < 0 ? Infinity : nextInMs,
      isProbe: isProbe === 1,
      ids: ids.map((id) => decodeName(id)),
      states: states.map((state) => (state ? parseState(state) : null)),
    };
  }

  /** Stores outcomes where the lease still holds. One round trip for each MiB of values. */
  async commit(claim: Claim, { outcomes, isSourceDown }: Outcomes): Promise<Committed> {
    const total = { nextInMs: Infinity, held: 0, unchanged: 0 };
    const { ids } = claim;
    const phase = Math.random();
    let part = new Part();
    let claimed = ids.length;
    for (const [index, id] of ids.entries()) {
      this.#add(part, claim, index, outcomes.get(id) ?? 'skipped', phase);
      const isLast = index === ids.length - 1;
      if (part.bytes < MAX_COMMIT_BYTES && !isLast) continue;
      const verdict = isLast ? verdictOf(claim, isSourceDown) : 'none';
      const [nextInMs, held] = await this.#send(claim, part, claimed, verdict);
      total.nextInMs = nextInMs < 0 ? Infinity : nextInMs;
      total.held += held;
      total.unchanged += part.unchanged;
      claimed -= part.size;
      part = new Part();
    }
    return total;
  }

  #add(part: Part, claim: Claim, index: number, outcome: Outcome, phase: number): void {
    const { options, codec } = this.#table;
    const id = claim.ids[index]!;
    const state = claim.states[index];
    part.size += 1;
    if (!state || typeof outcome === 'string') {
      const code = typeof outcome === 'string' ? outcome : 'gone';
      const isPlanned = code === 'gone' && state;
      const head = codec.tombstone('');
      part.otherKeys.push(this.#keys.row(id));
      part.others.push(
        encodeName(id),
        isPlanned ? this.#nextAt(claim, state.everyMs, phase + index * GOLDEN) : claim.middle,
        isPlanned ? formatState(claim.claimedAt, head, state.everyMs) : '',
        CODES[code],
      );
      return;
    }
    const { head, value } = outcome;
    const kind = kindOf(claim, index, head, options.keepMs);
    part.rows[kind].push({
      id,
      dueAt: this.#nextAt(claim, state.everyMs, phase + index * GOLDEN),
      state: formatState(claim.claimedAt, head, state.everyMs),
      value,
    });
    part.bytes += kind === 'renewed' || kind === 'changed' ? value.length : 0;
    part.firsts += state.loadedAt === 0 ? 1 : 0;
  }

  /** In step with when the batch was due, unless it is so late that its rows would be due again at once. */
  #nextAt({ claimedAt, repliedAt, middle }: Claim, everyMs: number, phase: number): number {
    const now = Number(claimedAt) + performance.now() - repliedAt;
    const waitMs = Math.max(1, everyMs * (1 - (phase % 1) * this.#table.options.jitter));
    const at = middle + waitMs;
    return Math.floor(at > now + MIN_REST * waitMs && at <= now + waitMs ? at : now + waitMs);
  }

  async #send(claim: Claim, part: Part, claimed: number, verdict: string): Promise<[number, number]> {
    const { due, rows, failures, source, unloaded, wake } = this.#keys;
    const { options, codec } = this.#table;
    const { minBackoffMs, maxBackoffMs } = this.#options;
    const { renewed, changed, checked } = part.rows;
    const loaded = KINDS.flatMap((kind) => part.rows[kind]);
    const stored = loaded.slice(0, renewed.length + changed.length);
    const withKeys = loaded.slice(0, stored.length + checked.length);
    const reply = await refresherCommit.run(
      this.#redis,
      {
        due,
        rows,
        failures,
        source,
        unloaded,
        wake,
        values: withKeys.map(({ id }) => this.#keys.row(id)).concat(part.otherKeys),
      },
      {
        publish: WaiterHub.of(this.#redis).publishCommand,
        lease: claim.lease,
        claimed,
        loaded: loaded.length,
        renewed: renewed.length,
        stored: stored.length,
        checked: checked.length,
        firsts: part.firsts,
        idleMs: options.idleMs,
        keepMs: options.keepMs,
        minBackoffMs,
        maxBackoffMs,
        phase: Math.random(),
        verdict,
        tombstone: options.vanished === 'tombstone' ? codec.tombstone(claim.claimedAt) : '',
        tombstoneMs: options.tombstoneMs,
        outcomes: [
          ...loaded.flatMap(({ dueAt, id }) => [dueAt, encodeName(id)]),
          ...loaded.map(({ state }) => state),
          ...stored.map(({ value }) => value),
          ...part.others,
        ],
      },
    );
    return reply as [number, number];
  }
}

/**
 * The expiry of a value is put off once in half the time that it is kept, and it is looked for once in CHECK_MS while it doesn't
 * change, each row at another time. A value that changes more often keeps its expiry, unless it may have none or another:
 * it was never stored, has another version, or is a tombstone.
 */
function kindOf({ claimedAt, ids, states }: Claim, index: number, head: string, keepMs: number): Kind {
  const { loadedAt, head: oldHead, everyMs } = states[index]!;
  const part = partOf(ids[index]!);
  const isPassed = (periodMs: number): boolean =>
    Math.floor(Number(claimedAt) / periodMs + part) !== Math.floor(loadedAt / periodMs + part);
  if (isPassed(Math.max(keepMs, 10 * everyMs) / 2)) return 'renewed';
  if (oldHead !== head) return hasValueLike(oldHead, head) ? 'changed' : 'renewed';
  return isPassed(CHECK_MS) ? 'checked' : 'confirmed';
}

/** Of the unit interval, as an id has it for ever. */
function partOf(id: string): number {
  let sum = 0;
  for (let at = 0; at < id.length; at += 1) sum = (31 * sum + id.charCodeAt(at)) | 0;
  return (sum * GOLDEN) % 1;
}

function verdictOf({ isProbe }: Claim, isSourceDown: boolean): string {
  if (isProbe) return isSourceDown ? 'probe failed' : 'probe loaded';
  return isSourceDown ? 'failed' : 'none';
}
