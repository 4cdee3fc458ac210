/**
 * Each process writes entries of its own in one address book, a version after the other, and all boost one shared entry. At the end
 * each entry is wholly one version that it may have, and the shared score is a sum of boosts.
 */
import type * as Autocomplete from '@mortise/autocomplete';
import type { Plan } from '../plan.js';
import { FAULTS, LOSSES, SERVER_CLOCK } from '../plan.js';
import { Random } from '../random.js';
import type { Programs, Workload } from '../workload.js';
import type { VirtualProcess } from '../world/process.js';
import type { ServerState } from '../world/server-state.js';
import type { World } from '../world/world.js';
import { persist } from './persist.js';
import { Operations } from './queue-of-operations.js';

const BOOK = 'people';
const SHARED = 'shared';
const KEYS = 2;
const LIMIT = 100;
const END_STEPS = 20_000;
const END_MS = 300_000;

export const autocomplete: Workload = {
  name: 'autocomplete',
  shape: {
    processes: [1, 3],
    operations: [4, 16],
    faults: [...FAULTS, ...SERVER_CLOCK, ...LOSSES],
    mostFaults: 5,
    steps: 110,
    longestMs: 2_000,
  },
  begin: (plan) => new BookPrograms(plan),
};

/** A change that had a reply. Instants are ms since the world began. */
interface Accepted {
  /** A version, or a boost. */
  readonly value: number;
  readonly calledAt: number;
  readonly returnedAt: number;
}

/** An entry: version 0 is none. */
interface Versions {
  readonly key: string;
  readonly accepted: Accepted[];
  tried: number;
  /** The versions that are removals. */
  readonly removals: Set<number>;
}

type Book = Autocomplete.AddressBook<number>;

class BookPrograms implements Programs {
  /** A change of the book has no id: the last one that the server executes is the one that stays. */
  readonly isInOrder: boolean;
  readonly #operations: Operations;
  readonly #entries = new Map<string, Versions>();
  readonly #writing = new Set<VirtualProcess>();
  /** Powers of two, so that a sum tells its parts. */
  #boosts = 0;
  readonly #acceptedBoosts: Accepted[] = [];

  constructor(plan: Plan) {
    this.#operations = new Operations(plan);
    this.isInOrder = new Random(plan.seed, 14).isTrue(0.5);
  }

  start(process: VirtualProcess, number: number): void {
    void this.#run(process, bookOf(process), number);
  }

  isDone(): boolean {
    for (const process of this.#writing) if (!process.isDead) return false;
    return this.#operations.isEmpty;
  }

  async check(world: World): Promise<readonly string[]> {
    const reader = world.spawn('reader');
    const book = bookOf(reader);
    const violations: string[] = [];
    let isRead = false;
    const read = async (): Promise<void> => {
      await this.#checkEntries(book, violations, world);
      await this.#checkBoosts(book, violations, world.server);
      isRead = true;
    };
    void read();
    // A change of a crashed process is executed before: the world has no commands of dead connections then.
    if (!(await world.runUntil(() => isRead, END_STEPS, END_MS)))
      violations.push('progress: the book is never read');
    return violations;
  }

  async #run(process: VirtualProcess, book: Book, number: number): Promise<void> {
    this.#writing.add(process);
    await persist(process, () => book.add({ key: SHARED, display: 'Shared' }));
    for (let one = this.#operations.next(number); one; one = this.#operations.next(number)) {
      const random = new Random(one.seed);
      await process.pause(random.below(30));
      if (random.isTrue(0.3)) await this.#boost(process, book);
      else await this.#write(process, book, `k${number * KEYS + random.below(KEYS)}`, random.isTrue(0.25));
    }
    this.#writing.delete(process);
  }

  async #boost(process: VirtualProcess, book: Book): Promise<void> {
    const by = 2 ** this.#boosts;
    const id = `boost ${this.#boosts}`;
    this.#boosts += 1;
    for (;;) {
      const calledAt = process.now();
      const score = await persist(process, () => book.boost(SHARED, by, { id }));
      if (score !== null) {
        this.#acceptedBoosts.push({ value: by, calledAt, returnedAt: process.now() });
        break;
      }
      // A server forgot the entry, with all earlier boosts.
      await persist(process, () => book.add({ key: SHARED, display: 'Shared' }));
    }
    process.note(`has boosted by ${by}`);
  }

  async #write(process: VirtualProcess, book: Book, key: string, removes: boolean): Promise<void> {
    const entry = this.#entries.get(key) ?? { key, accepted: [], tried: 0, removals: new Set([0]) };
    this.#entries.set(key, entry);
    entry.tried += 1;
    const version = entry.tried;
    if (removes) entry.removals.add(version);
    const calledAt = process.now();
    await persist(process, () =>
      removes
        ? book.remove(key)
        : book.add({ key, display: `${key} ${wordOf(version)}`, payload: version, score: version }),
    );
    entry.accepted.push({ value: version, calledAt, returnedAt: process.now() });
    process.note(`${key} is version ${version}`);
  }

  async #checkEntries(book: Book, violations: string[], world: World): Promise<void> {
    const { server } = world;
    const isLate = !this.isInOrder && world.suffered.some(({ kind }) => kind === 'cut' || kind === 'crash');
    let present = 0;
    for (const entry of this.#entries.values()) {
      const { key, tried, removals } = entry;
      const accepted = Math.max(0, ...kept(entry.accepted, server));
      const stored = await book.get(key);
      // A late change may be any earlier one, but not none.
      const least = isLate ? Math.min(accepted, 1) : accepted;
      const possible = Array.from({ length: tried - least + 1 }, (_, index) => least + index);
      const isKnown = stored
        ? possible.includes(stored.payload ?? 0)
        : possible.some((version) => removals.has(version));
      if (!isKnown)
        violations.push(
          `wrong version: ${key} is ${stored?.payload ?? 'absent'}, and ${accepted} of ${tried} are accepted`,
        );
      if (stored) present += 1;
      for (let version = 1; version <= tried; version += 1) {
        const found = await book.complete(`${key} ${wordOf(version)}`, { limit: LIMIT });
        const isFound = found.some((one) => one.key === key);
        if (isFound !== (stored?.payload === version))
          violations.push(
            `torn: ${key} is ${stored?.payload ?? 'absent'}, and ${isFound ? 'is' : "isn't"} found as ${version}`,
          );
      }
    }
    if (await book.get(SHARED)) present += 1;
    const [size, all] = [await book.size(), await book.complete('', { limit: LIMIT })];
    if (size !== present || all.length !== size)
      violations.push(`torn: the size is ${size}, ${all.length} are found, and ${present} are stored`);
    if (!(await book.get(SHARED)) && server.losses.length === 0) violations.push('lost: the shared entry');
  }

  async #checkBoosts(book: Book, violations: string[], server: ServerState): Promise<void> {
    const score = (await book.get(SHARED))?.score ?? 0;
    const tried = 2 ** this.#boosts - 1;
    const accepted = kept(this.#acceptedBoosts, server).reduce((sum, by) => sum + by, 0);
    const isSum = (score & accepted) === accepted && (score & ~tried) === 0;
    if (!isSum) violations.push(`boosts: the score is ${score}, and ${accepted} of ${tried} is accepted`);
  }
}

/** The values of changes that no loss of the server has undone. */
function kept(changes: readonly Accepted[], server: ServerState): number[] {
  return changes
    .filter(({ calledAt, returnedAt }) => !server.mayHaveForgotten(calledAt, returnedAt))
    .map(({ value }) => value);
}

function bookOf(process: VirtualProcess): Book {
  const { AddressBook } = process.load<typeof Autocomplete>('@mortise/autocomplete');
  return new AddressBook<number>(process.connect(), BOOK);
}

/** No word is the beginning of another one. */
function wordOf(version: number): string {
  return `v${version}x`;
}
