/**
 * Changes of recent contacts on their way to Redis.
 *
 * A call costs Node and Redis more than the change in it does, most of it for the socket and for what a script needs to begin and
 * end. So the changes of many users travel together: with fifty callers each costs 3.8 µs of Node and 4 of Redis, where a call for
 * each user cost 7.2 and 6.8. On a Cluster, where users are of different slots, there is one for each user.
 *
 * Those of a tick go in a few calls instead of one, so that Redis works on the second while Node deals with the reply to the first: 216,000
 * changes a second instead of 138,000.
 *
 * Of a user one call is under way at a time, and what is changed meanwhile shares the next one. For Redis may refuse a call as a
 * whole because of another user: a later call with changes of this one would have been made before the refused ones are sent again.
 */
import { afterMicrotasks, BatchReplyError } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';

/** Changes in one script call: at the largest capacity they hold the server for about 2 ms. */
const MAX_BATCH = 100;

/** Calls in a tick, unless they are full. */
const LANES = 3;

export interface RecentChange {
  /** Of the user. */
  readonly key: string;
  /** `+`: touch; `-`: remove. */
  readonly sign: '+' | '-';
  readonly entry: string;
}

/** What is changed by a script call: three lists, each with one for each change. */
export interface RecentChangesBatch {
  readonly keys: readonly string[];
  readonly signs: string;
  readonly entries: readonly string[];
}

/** Runs the script. For each change 1 if the entry was there, or 0, or why it was not changed. */
export type ApplyRecentChanges = (batch: RecentChangesBatch) => Promise<readonly (number | Error)[]>;

/** A change, and who waits for it. */
interface Submitted {
  readonly change: RecentChange;
  resolve(wasThere: boolean): void;
  reject(error: unknown): void;
}

/** A user of whom something is to be changed. */
interface User {
  readonly key: string;
  /** What no call has yet: all but the last ones fill a call each. */
  readonly waiting: Submitted[][];
}

/** What one call changes of a user. */
interface Turn {
  readonly user: User;
  readonly submitted: readonly Submitted[];
}

/**
 * What Redis says of the keys of a call before it runs: the call has changed nothing. NOPERM of a command, which may be one in the script,
 * goes on otherwise, and may name a user who is called after keys.
 */
const REFUSES_KEYS =
  /^(CROSSSLOT |NOPERM (No permissions to access a key|this user has no permissions to access one of the keys))/;

export class RecentChanges {
  readonly #apply: ApplyRecentChanges;
  /** Those who have a call under way, or wait for one. */
  readonly #users = new Map<string, User>();
  /** Those of them who have none under way. */
  #ready: User[] = [];
  /** Whether a call may have several users. */
  #isShared: boolean;

  constructor(redis: RedisClient, apply: ApplyRecentChanges) {
    this.#apply = apply;
    this.#isShared = !redis.isCluster;
  }

  /** Whether the entry was there. Changes of a user are made in the order of the calls. */
  submit(change: RecentChange): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const submitted = { change, resolve, reject };
      const user = this.#users.get(change.key);
      if (user) {
        const latest = user.waiting.at(-1);
        if (latest && latest.length < MAX_BATCH) latest.push(submitted);
        else user.waiting.push([submitted]);
        return;
      }
      const first: User = { key: change.key, waiting: [[submitted]] };
      this.#users.set(change.key, first);
      this.#schedule(first);
    });
  }

  #schedule(user: User): void {
    if (this.#ready.length === 0) afterMicrotasks(() => this.#flush());
    this.#ready.push(user);
  }

  #flush(): void {
    const ready = this.#ready;
    this.#ready = [];
    const lanes: Turn[][] = Array.from({ length: this.#isShared ? LANES : ready.length }, () => []);
    const sizes = lanes.map(() => 0);
    for (const [index, user] of ready.entries()) {
      const lane = index % lanes.length;
      const turn: Turn = { user, submitted: user.waiting.shift()! };
      if (sizes[lane]! + turn.submitted.length > MAX_BATCH) {
        void this.#send(lanes[lane]!);
        lanes[lane] = [];
        sizes[lane] = 0;
      }
      lanes[lane]!.push(turn);
      sizes[lane]! += turn.submitted.length;
    }
    for (const turns of lanes) if (turns.length > 0) void this.#send(turns);
  }

  async #send(turns: readonly Turn[]): Promise<void> {
    const submitted = turns.length === 1 ? turns[0]!.submitted : turns.flatMap((turn) => turn.submitted);
    try {
      const found = await this.#run(submitted);
      for (const [index, one] of submitted.entries()) {
        const count = found[index]!;
        if (typeof count === 'number') one.resolve(count === 1);
        else one.reject(count);
      }
    } catch (error) {
      if (turns.length > 1 && error instanceof Error && REFUSES_KEYS.test(error.message)) {
        // A node of a Cluster, to which the application has connected as to a single server.
        if (error.message.startsWith('CROSSSLOT')) this.#isShared = false;
        for (const turn of turns) void this.#send([turn]);
        return;
      }
      for (const one of submitted) one.reject(error);
    }
    for (const { user } of turns) {
      if (user.waiting.length > 0) this.#schedule(user);
      else this.#users.delete(user.key);
    }
  }

  async #run(submitted: readonly Submitted[]): Promise<readonly (number | Error)[]> {
    const keys: string[] = [];
    const entries: string[] = [];
    let signs = '';
    for (const { change } of submitted) {
      keys.push(change.key);
      entries.push(change.entry);
      signs += change.sign;
    }
    const found = await this.#apply({ keys, signs, entries });
    if (found.length !== keys.length) throw new BatchReplyError(keys.length, found.length);
    return found;
  }
}
