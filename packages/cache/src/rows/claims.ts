/** The two transitions of a row, alone or in a pack, that refreshers make: from due to leased, and from leased to due again, or out. */
import { WaiterHub } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import type { ShardKeys } from '../keys.js';
import type { RefreshOptions } from '../options.js';
import { refresherClaim, refresherCommit, refresherRetry } from '../scripts.gen.js';
import { toClaim, toInMs, toRetry } from './claim.js';
import type { Claim, FailingDue } from './claim.js';
import { CommitPart, Rows } from './commit-part.js';
import type { Kind, LoadedRow, NewPack, PackEnd } from './commit-part.js';
import { formatHeader, formatRows, formatUnknown, MIN_PACK_ROWS, packName } from './pack.js';
import type { ClaimedPack, PackedRow } from './pack.js';
import type { RefreshedTable } from './refreshed-table.js';
import { hasValueLike } from './row-codec.js';
import type { EncodedRow } from './row-codec.js';
import { formatState } from './schedule-state.js';

/**
 * What became of a row: its encoded value; gone; failed to load; so it did on its own, and took long; or not loaded, for a reason that isn't
 * its own.
 */
export type Outcome = Pick<EncodedRow, 'head' | 'value'> | 'gone' | 'failed' | 'hung' | 'skipped';

/** What became of a batch. */
export interface Outcomes {
  /** Rows that are missing here were skipped. */
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /** No row could be loaded, and it isn't the rows. */
  readonly isSourceDown: boolean;
}

export interface Committed extends FailingDue {
  /** When the first row of the shard is due whose last load did not fail, in ms; Infinity: none is. */
  readonly nextInMs: number;
  /** Rows whose lease still held. */
  readonly held: number;
  /** Rows whose value had not changed. */
  readonly unchanged: number;
}

/** What the script knows them by. */
const CODES = { gone: '-', failed: '!', hung: '~', skipped: '?' };
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

/** Of one shard of a table. */
export class Claims {
  readonly #redis: RedisClient;
  readonly #table: RefreshedTable;
  readonly #keys: ShardKeys;
  readonly #options: RefreshOptions;
  /** Where the id begins in the key of a value, in bytes, from 1. */
  readonly #idAt: number;
  #touchAt = 0;

  constructor(redis: RedisClient, table: RefreshedTable, keys: ShardKeys, options: RefreshOptions) {
    this.#redis = redis;
    this.#table = table;
    this.#keys = keys;
    this.#options = options;
    this.#idAt = Buffer.byteLength(keys.row('')) + 1;
  }

  /** Takes up to `batch` rows that are due, none of which failed when it was loaded last. One round trip, O(log n + rows). */
  async claim(): Promise<Claim> {
    const { due, rows, packs, packed, source, lease, suspects, hung } = this.#keys;
    const { batch, leaseMs, maxBackoffMs } = this.#options;
    const { idleMs } = this.#table.options;
    const isTouching = performance.now() >= this.#touchAt;
    const reply = await refresherClaim.run(
      this.#redis,
      { due, rows, packs, packed, source, lease, suspects, hung },
      { batch, leaseMs, idleMs, isTouching: isTouching ? 1 : 0, maxBackoffMs },
    );
    if (isTouching) this.#touchAt = performance.now() + idleMs / TOUCHES;
    return toClaim(reply);
  }

  /**
   * Takes rows that are due and failed when they were loaded last: a few, or one. One round trip, O(log n).
   *
   * @param canHang Whether it may be one that is known to hang.
   */
  async retry(canHang: boolean): Promise<Claim> {
    const { due, rows, packs, suspects, hung, source, lease, failures } = this.#keys;
    const { batch, leaseMs, maxBackoffMs } = this.#options;
    const { idleMs } = this.#table.options;
    const reply = await refresherRetry.run(
      this.#redis,
      { due, rows, packs, suspects, hung, source, lease, failures },
      { batch, leaseMs, idleMs, maxBackoffMs, canHang: canHang ? 1 : 0 },
    );
    return toRetry(reply);
  }

  /** Stores outcomes where the lease still holds. One round trip for each MiB of values. */
  async commit(claim: Claim, { outcomes, isSourceDown }: Outcomes): Promise<Committed> {
    const total = { nextInMs: Infinity, suspectInMs: Infinity, hungInMs: Infinity, held: 0, unchanged: 0 };
    const { ids, packs } = claim;
    const phase = Math.random();
    const single = packs[0]?.from ?? ids.length;
    let claimed = single;
    let part = new CommitPart();
    let isWhole = true;
    const send = async (verdict: string): Promise<void> => {
      const [nextInMs, held, suspectInMs, hungInMs] = await this.#send(claim, part, claimed, verdict);
      total.nextInMs = toInMs(nextInMs);
      total.suspectInMs = toInMs(suspectInMs);
      total.hungInMs = toInMs(hungInMs);
      total.held += held;
      total.unchanged += part.unchanged;
      claimed -= part.rows.size;
      part = new CommitPart();
    };
    const outcomeOf = (index: number): Outcome => outcomes.get(ids[index]!) ?? 'skipped';
    for (let index = 0; index < single; index += 1) {
      part.firsts += this.#add(part.rows, claim, index, outcomeOf(index), phase);
      if (part.bytes < MAX_COMMIT_BYTES || index === ids.length - 1) continue;
      isWhole = false;
      await send('none');
    }
    const kept = new Map<ClaimedPack, PackedRow[]>();
    for (const pack of packs) {
      let rows = new Rows();
      let isSplit = false;
      const stay: PackedRow[] = [];
      const isSkipped = isEach(pack, (index) => outcomeOf(index) === 'skipped');
      for (let index = isSkipped ? pack.to : pack.from; index < pack.to; index += 1) {
        const outcome = outcomeOf(index);
        this.#add(rows, claim, index, outcome, phase, pack);
        if (typeof outcome !== 'string') stay.push({ id: ids[index]!, head: outcome.head });
        if (part.bytes + rows.bytes < MAX_COMMIT_BYTES || index === ids.length - 1) continue;
        // The values first, under the lease; what becomes of the pack with the last of them.
        const rest = rows.withoutStored();
        const meanwhile = isSplit ? '' : formatUnknown(ids.slice(pack.from, pack.to));
        part.packs.push({ pack, rows, end: undefined, meanwhile });
        rows = rest;
        isSplit = true;
        isWhole = false;
        await send('none');
      }
      kept.set(pack, stay);
      const end = this.#endOf(claim, pack, isSkipped, stay, phase, isSplit);
      part.packs.push({ pack, rows, end, meanwhile: '' });
    }
    // What is stored in several calls may be held in one and lost in the next.
    if (isWhole) part.made.push(...this.#make(claim, part.rows.loaded, kept, phase));
    await send(verdictOf(claim, isSourceDown));
    return total;
  }

  /** Returns how many of it were never loaded before. */
  #add(rows: Rows, claim: Claim, index: number, outcome: Outcome, phase: number, pack?: ClaimedPack): number {
    const { options, codec } = this.#table;
    const id = claim.ids[index]!;
    const state = claim.states[index];
    if (!state || typeof outcome === 'string') {
      const code = typeof outcome === 'string' ? outcome : 'gone';
      const isPlanned = code === 'gone' && state;
      rows.others.push({
        id,
        dueAt: isPlanned ? this.#nextAt(claim, state.everyMs, phase + index * GOLDEN) : claim.middle,
        state: isPlanned
          ? formatState(claim.claimedAt, codec.tombstone(''), state.everyMs)
          : state && pack
            ? formatState(String(state.loadedAt).padStart(13, '0'), state.head, state.everyMs)
            : '',
        code: CODES[code],
      });
      return 0;
    }
    const { head, value } = outcome;
    const { everyMs } = state;
    rows.add(kindOf(claim, index, head, options.keepMs), {
      id,
      head,
      everyMs,
      dueAt: pack ? '' : this.#nextAt(claim, everyMs, phase + index * GOLDEN),
      state: pack ? '' : formatState(claim.claimedAt, head, everyMs),
      value,
    });
    return state.loadedAt === 0 ? 1 : 0;
  }

  /** How a pack goes on with the rows that stay. */
  #endOf(
    claim: Claim,
    pack: ClaimedPack,
    isSkipped: boolean,
    stay: readonly PackedRow[],
    phase: number,
    isSplit: boolean,
  ): PackEnd {
    const size = pack.to - pack.from;
    if (isSkipped) return { dueAt: claim.middle, header: '', rows: '', stays: true, size };
    const isSame =
      !isSplit &&
      pack.seen === 0 &&
      stay.length === size &&
      stay.every(({ head }, index) => head === claim.states[pack.from + index]!.head);
    return {
      dueAt: this.#nextAt(claim, pack.everyMs, phase + pack.from * GOLDEN),
      header: formatHeader(claim.claimedAt, pack.everyMs, stay.length),
      rows: isSame ? '' : formatRows(stay),
      stays: stay.length > 0,
      size,
    };
  }

  /** Packs of the rows that have none, and of small ones: those that are refreshed equally often, and are worth it. */
  #make(
    claim: Claim,
    single: readonly LoadedRow[],
    kept: ReadonlyMap<ClaimedPack, readonly PackedRow[]>,
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
        name: packName(claim.lease, made.length),
        dueAt: this.#nextAt(claim, everyMs, phase),
        header: formatHeader(claim.claimedAt, everyMs, rows.length),
        rows: formatRows(rows),
        parts: parts.map(([{ name }]) => name),
        ids: rows.map(({ id }) => id),
      });
    }
    return made;
  }

  /** In step with when the batch was due, unless it is so late that its rows would be due again at once. */
  #nextAt({ claimedAt, repliedAt, middle }: Claim, everyMs: number, phase: number): number {
    const now = Number(claimedAt) + performance.now() - repliedAt;
    const waitMs = Math.max(1, everyMs * (1 - (phase % 1) * this.#table.options.jitter));
    const at = middle + waitMs;
    return Math.floor(at > now + MIN_REST * waitMs && at <= now + waitMs ? at : now + waitMs);
  }

  async #send(
    claim: Claim,
    part: CommitPart,
    claimed: number,
    verdict: string,
  ): Promise<[number, number, number, number]> {
    const { due, rows, packs, packed, failures, suspects, hung, source, unloaded, wake } = this.#keys;
    const { options, codec } = this.#table;
    const { minBackoffMs, maxBackoffMs } = this.#options;
    const reply = await refresherCommit.run(
      this.#redis,
      {
        due,
        rows,
        packs,
        packed,
        failures,
        suspects,
        hung,
        source,
        unloaded,
        wake,
        values: part.values(this.#keys),
      },
      {
        publish: WaiterHub.of(this.#redis).publishCommand,
        lease: claim.lease,
        claimed,
        loaded: part.rows.loaded.length,
        ...part.rows.counts,
        firsts: part.firsts,
        idAt: this.#idAt,
        idleMs: options.idleMs,
        keepMs: options.keepMs,
        minBackoffMs,
        maxBackoffMs,
        phase: Math.random(),
        verdict,
        tombstone: options.vanished === 'tombstone' ? codec.tombstone(claim.claimedAt) : '',
        tombstoneMs: options.tombstoneMs,
        packCount: part.packs.length,
        outcomes: part.outcomes,
      },
    );
    return reply as [number, number, number, number];
  }
}

function isEach({ from, to }: ClaimedPack, is: (index: number) => boolean): boolean {
  for (let index = from; index < to; index += 1) if (!is(index)) return false;
  return true;
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

function verdictOf({ isProbe, isRetry }: Claim, isSourceDown: boolean): string {
  // Rows that failed before are a probe only when no others are due, so there is no crowd that would fall upon the source.
  if (isProbe && isRetry) return isSourceDown ? 'probe failed' : 'back';
  if (isProbe) return isSourceDown ? 'probe failed' : 'probe loaded';
  return isSourceDown ? 'failed' : 'none';
}
