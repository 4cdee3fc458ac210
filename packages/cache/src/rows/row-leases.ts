/**
 * Refreshers make two transitions of a row, alone or in a pack: from due to leased, and from leased to due again or removed.
 */
import { WaiterHub } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { errorText } from './error-text.js';
import { requestId } from '../request-id.js';
import type { ShardKeys } from './keys.js';
import type { ResolvedRefresherOptions } from './options.js';
import { refresherCommit, refresherLease, refresherLeaseFailed } from '../scripts.gen.js';
import { toInMs, toLeasedRows } from './leased-rows.js';
import type { LeasedRows, NextDue } from './leased-rows.js';
import { CommitCall, Rows } from './commit-call.js';
import type { Kind, LoadedRow, NewPack, PackEnd } from './commit-call.js';
import { formatHeader, formatRows, formatUnknown, MIN_PACK_ROWS, packName } from './pack.js';
import type { LeasedPack, PackedRow } from './pack.js';
import type { RefreshedTable } from './refreshed-table.js';
import { hasValueLike } from './row-codec.js';
import type { EncodedRow } from './row-codec.js';
import { formatState } from './schedule-state.js';

/** The outcome of a row: its encoded value; it is missing; its load failed; or it was skipped for a reason that is not its own. */
export type Outcome = Pick<EncodedRow, 'head' | 'value'> | 'missing' | 'failed' | 'skipped';

/** The outcome of a batch. */
export interface Outcomes {
  /** Rows without an outcome were skipped. */
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /** No row could be loaded, and the cause is the source. */
  readonly isSourceDown: boolean;
  /** The error of each failed row. */
  readonly failures?: ReadonlyMap<string, unknown>;
}

export interface Committed extends NextDue {
  /** Rows whose lease still held. */
  readonly held: number;
  /** Rows whose value had not changed. */
  readonly unchanged: number;
}

/** The codes of the commit script. */
const CODES = { missing: '-', failed: '!', skipped: '?' };
/** Bytes of values in one commit, which bound its time on the server. */
const MAX_COMMIT_BYTES = 1_048_576;
/** How often the expiry of the schedule is renewed within its duration. */
const TOUCHES = 1_000;
/** Steps of the golden ratio fill the unit interval evenly, however many they are. */
const GOLDEN = 0.618_033_988_749_894_9;

/** A late row keeps its rhythm while this part of its delay remains. */
const MIN_REMAINDER = 0.6;

/** The interval at which the value of an unchanged row is checked for eviction. */
const CHECK_MS = 16_000;

/** The leases of one shard of a table. */
export class RowLeases {
  readonly #redis: RedisClient;
  readonly #table: RefreshedTable;
  readonly #keys: ShardKeys;
  readonly #options: ResolvedRefresherOptions;
  /** Offset of the id in the key of a value, in bytes, from 1. */
  readonly #idAt: number;
  #touchAt = 0;

  constructor(redis: RedisClient, table: RefreshedTable, keys: ShardKeys, options: ResolvedRefresherOptions) {
    this.#redis = redis;
    this.#table = table;
    this.#keys = keys;
    this.#options = options;
    this.#idAt = Buffer.byteLength(keys.row('')) + 1;
  }

  /** Leases up to `batch` due rows whose last load did not fail. One round trip, O(log n + rows). */
  async lease(): Promise<LeasedRows> {
    const { batch, leaseMs, backoff } = this.#options;
    const { idleMs } = this.#table.options;
    const isTouching = performance.now() >= this.#touchAt;
    const reply = await refresherLease.run(this.#redis, this.#keys, {
      batch,
      leaseMs,
      idleMs,
      isTouching: isTouching ? 1 : 0,
      maxDelayMs: backoff.maxDelayMs,
      request: requestId(),
    });
    if (isTouching) this.#touchAt = performance.now() + idleMs / TOUCHES;
    return toLeasedRows(reply);
  }

  /** Leases due rows whose last load failed: a few, or one. One round trip, O(log n + due rows). */
  async leaseFailed(): Promise<LeasedRows> {
    const { batch, leaseMs, backoff } = this.#options;
    const { idleMs } = this.#table.options;
    const { maxDelayMs } = backoff;
    const args = { batch, leaseMs, idleMs, maxDelayMs };
    const reply = await refresherLeaseFailed.run(this.#redis, this.#keys, args);
    return toLeasedRows(reply);
  }

  /** Stores the outcomes of rows whose lease still holds. One round trip for each MiB of values. */
  async commit(leased: LeasedRows, { outcomes, isSourceDown, failures }: Outcomes): Promise<Committed> {
    const total = { nextInMs: Infinity, failedInMs: Infinity, held: 0, unchanged: 0 };
    const { ids, packs } = leased;
    const phase = Math.random();
    const single = packs[0]?.from ?? ids.length;
    let uncommitted = single;
    let part = new CommitCall();
    let isWhole = true;
    const send = async (verdict: Verdict): Promise<void> => {
      const [nextInMs, held, failedInMs] = await this.#send(leased, part, uncommitted, verdict);
      total.nextInMs = toInMs(nextInMs);
      total.failedInMs = toInMs(failedInMs);
      total.held += held;
      total.unchanged += part.unchanged;
      uncommitted -= part.rows.size;
      part = new CommitCall();
    };
    const outcomeOf = (index: number): Outcome => outcomes.get(ids[index]!) ?? 'skipped';
    for (let index = 0; index < single; index += 1) {
      part.firsts += this.#add(part.rows, leased, index, outcomeOf(index), phase, failures);
      if (part.bytes < MAX_COMMIT_BYTES || index === ids.length - 1) continue;
      isWhole = false;
      await send('none');
    }
    const kept = new Map<LeasedPack, PackedRow[]>();
    for (const pack of packs) {
      let rows = new Rows();
      let isSplit = false;
      const stay: PackedRow[] = [];
      const isSkipped = isEach(pack, (index) => outcomeOf(index) === 'skipped');
      for (let index = isSkipped ? pack.to : pack.from; index < pack.to; index += 1) {
        const outcome = outcomeOf(index);
        this.#add(rows, leased, index, outcome, phase, failures, pack);
        if (typeof outcome !== 'string') stay.push({ id: ids[index]!, head: outcome.head });
        if (part.bytes + rows.bytes < MAX_COMMIT_BYTES || index === ids.length - 1) continue;
        // The values come first, under the lease; the end of the pack comes with the last of them.
        const remainder = rows.withoutStored();
        const meanwhile = isSplit ? '' : formatUnknown(ids.slice(pack.from, pack.to));
        part.packs.push({ pack, rows, end: undefined, meanwhile });
        rows = remainder;
        isSplit = true;
        isWhole = false;
        await send('none');
      }
      kept.set(pack, stay);
      const end = this.#endOf(leased, pack, isSkipped, stay, phase, isSplit);
      part.packs.push({ pack, rows, end, meanwhile: '' });
    }
    // Between several calls the lease may be lost.
    if (isWhole) part.made.push(...this.#make(leased, part.rows.loaded, kept, phase));
    await send(verdictOf(leased, isSourceDown));
    return total;
  }

  /** Returns 1 for a row that was never loaded before, else 0. */
  #add(
    rows: Rows,
    leased: LeasedRows,
    index: number,
    outcome: Outcome,
    phase: number,
    failures: ReadonlyMap<string, unknown> | undefined,
    pack?: LeasedPack,
  ): number {
    const { options, codec } = this.#table;
    const id = leased.ids[index]!;
    const state = leased.states[index];
    if (!state || typeof outcome === 'string') {
      const code = typeof outcome === 'string' ? outcome : 'missing';
      const isScheduled = code === 'missing' && state;
      rows.others.push({
        id,
        dueAt: isScheduled ? this.#nextAt(leased, state.everyMs, phase + index * GOLDEN) : leased.medianDueAt,
        state: isScheduled
          ? formatState(leased.leasedAt, codec.tombstone(''), state.everyMs)
          : state && pack
            ? formatState(String(state.loadedAt).padStart(13, '0'), state.head, state.everyMs)
            : '',
        code: code === 'failed' ? CODES.failed + errorText(failures?.get(id)) : CODES[code],
      });
      return 0;
    }
    const { head, value } = outcome;
    const { everyMs } = state;
    rows.add(kindOf(leased, index, head, options.keepMs), {
      id,
      head,
      everyMs,
      dueAt: pack ? '' : this.#nextAt(leased, everyMs, phase + index * GOLDEN),
      state: pack ? '' : formatState(leased.leasedAt, head, everyMs),
      value,
    });
    return state.loadedAt === 0 ? 1 : 0;
  }

  /** The state of a pack with the rows that stay. */
  #endOf(
    leased: LeasedRows,
    pack: LeasedPack,
    isSkipped: boolean,
    stay: readonly PackedRow[],
    phase: number,
    isSplit: boolean,
  ): PackEnd {
    const size = pack.to - pack.from;
    if (isSkipped) return { dueAt: leased.medianDueAt, header: '', rows: '', stays: true, size };
    const isSame =
      !isSplit &&
      pack.seen === 0 &&
      stay.length === size &&
      stay.every(({ head }, index) => head === leased.states[pack.from + index]!.head);
    return {
      dueAt: this.#nextAt(leased, pack.everyMs, phase + pack.from * GOLDEN),
      header: formatHeader(leased.leasedAt, pack.everyMs, stay.length),
      rows: isSame ? '' : formatRows(stay),
      stays: stay.length > 0,
      size,
    };
  }

  /** New packs of single rows and of small packs with the same delay, where there are enough. */
  #make(
    leased: LeasedRows,
    single: readonly LoadedRow[],
    kept: ReadonlyMap<LeasedPack, readonly PackedRow[]>,
    phase: number,
  ): NewPack[] {
    const small = [...kept].filter(([, rows]) => rows.length > 0 && rows.length < this.#options.batch / 4);
    const made: NewPack[] = [];
    for (const everyMs of new Set([...single, ...small.map(([pack]) => pack)].map((each) => each.everyMs))) {
      const own = single.filter((row) => row.everyMs === everyMs);
      const parts = small.filter(([pack]) => pack.everyMs === everyMs);
      if (own.length < MIN_PACK_ROWS && parts.length < 2) continue;
      const rows: PackedRow[] = [...own, ...parts.flatMap(([, packed]) => packed)];
      made.push({
        name: packName(leased.lease, made.length),
        dueAt: this.#nextAt(leased, everyMs, phase),
        header: formatHeader(leased.leasedAt, everyMs, rows.length),
        rows: formatRows(rows),
        parts: parts.map(([{ name }]) => name),
        ids: rows.map(({ id }) => id),
      });
    }
    return made;
  }

  /** Keeps the rhythm of the batch, unless it is so late that its rows would be due again at once. */
  #nextAt({ leasedAt, repliedAt, medianDueAt }: LeasedRows, everyMs: number, phase: number): number {
    const now = Number(leasedAt) + performance.now() - repliedAt;
    const waitMs = Math.max(1, everyMs * (1 - (phase % 1) * this.#table.options.jitter));
    const at = medianDueAt + waitMs;
    return Math.floor(at > now + MIN_REMAINDER * waitMs && at <= now + waitMs ? at : now + waitMs);
  }

  async #send(
    leased: LeasedRows,
    part: CommitCall,
    uncommitted: number,
    verdict: Verdict,
  ): Promise<[number, number, number]> {
    const { options, codec } = this.#table;
    const { type, delayMs, maxDelayMs, jitter } = this.#options.backoff;
    const reply = await refresherCommit.run(
      this.#redis,
      { ...this.#keys, values: part.values(this.#keys) },
      {
        publish: WaiterHub.of(this.#redis).publishCommand,
        lease: leased.lease,
        leased: uncommitted,
        loaded: part.rows.loaded.length,
        ...part.rows.counts,
        firsts: part.firsts,
        idAt: this.#idAt,
        idleMs: options.idleMs,
        keepMs: options.keepMs,
        isFixed: type === 'fixed' ? 1 : 0,
        delayMs,
        maxDelayMs,
        jitter,
        phase: Math.random(),
        verdict,
        tombstone: options.missing === 'tombstone' ? codec.tombstone(leased.leasedAt) : '',
        tombstoneMs: options.tombstoneMs,
        packCount: part.packs.length,
        outcomes: part.outcomes,
      },
    );
    return reply as [number, number, number];
  }
}

function isEach({ from, to }: LeasedPack, is: (index: number) => boolean): boolean {
  for (let index = from; index < to; index += 1) if (!is(index)) return false;
  return true;
}

/**
 * The expiry of a value is renewed once in half its time. The value of an unchanged row is checked once in CHECK_MS, each row at
 * another moment. A changed value keeps its expiry, unless it may have none or another one: it was never stored, has another
 * version, or is a tombstone.
 */
function kindOf({ leasedAt, ids, states }: LeasedRows, index: number, head: string, keepMs: number): Kind {
  const { loadedAt, head: oldHead, everyMs } = states[index]!;
  const part = partOf(ids[index]!);
  const isPassed = (periodMs: number): boolean =>
    Math.floor(Number(leasedAt) / periodMs + part) !== Math.floor(loadedAt / periodMs + part);
  if (isPassed(Math.max(keepMs, 10 * everyMs) / 2)) return 'renewed';
  if (oldHead !== head) return hasValueLike(oldHead, head) ? 'changed' : 'renewed';
  return isPassed(CHECK_MS) ? 'checked' : 'confirmed';
}

/** A number from 0 to 1 that is constant for an id. */
function partOf(id: string): number {
  let sum = 0;
  for (let at = 0; at < id.length; at += 1) sum = (31 * sum + id.charCodeAt(at)) | 0;
  return (sum * GOLDEN) % 1;
}

/** The conclusion on the source. */
type Verdict = 'down' | 'probe failed' | 'probe loaded' | 'up' | 'none';

function verdictOf({ isProbe, failures }: LeasedRows, isSourceDown: boolean): Verdict {
  if (!isProbe) return isSourceDown ? 'down' : 'none';
  if (!isSourceDown) return failures > 0 ? 'up' : 'probe loaded';
  // A row that failed more than once may be the cause itself.
  return failures > 1 ? 'none' : 'probe failed';
}
