import { ArgumentRangeError, Coalescer, requireName, requireNumber } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { RequestReusedError } from '../../errors.js';
import type { BookKeys } from '../../keys.js';
import type {
  AddEntry,
  AddManyOptions,
  AddManyResult,
  AddressBookOptions,
  BoostOptions,
} from '../../options.js';
import { requireEntry, resolveAddManyOptions, resolveBoostOptions } from '../../options.js';
import { bookApply } from '../../scripts.gen.js';
import { idOf, membersOf, storeEntry } from '../entry.js';
import { whileSlotMoves } from '../slot-moves.js';
import { addMany } from './add-many.js';
import { aliasesOf } from './aliases.js';

/** The most changes in one script call, which block the server for up to 20 ms. */
const MAX_BATCH = 256;
/** A change counts as its members, and as four at least unless it adds a handle. */
const LEAST_WEIGHT = 4;

/** The arguments of one change for `book.apply.lua`. */
type Change = readonly (string | number)[];

interface ChangesOptions {
  readonly halfLifeMs: number;
  readonly keysOf: AddressBookOptions['keysOf'];
}

/** Changes of a book on their way to Redis. Those of one tick share a script call, in the order of their calls. */
export class Changes<Payload> {
  readonly #options: ChangesOptions;
  readonly #calls: Coalescer<null, Change, string | number>;

  /** @param onChanged Called with the number of changes of each successful call. */
  constructor(
    redis: RedisClient,
    keys: BookKeys,
    options: ChangesOptions,
    onChanged: (count: number) => void,
  ) {
    this.#options = options;
    const { halfLifeMs } = options;
    this.#calls = new Coalescer(
      async (_, changes) => {
        const replies = await whileSlotMoves(() =>
          bookApply.run(redis, keys, { halfLifeMs, changes: changes.flat() }),
        );
        onChanged(changes.length);
        return replies as (string | number)[];
      },
      {
        maxBatch: MAX_BATCH,
        maxBytes: MAX_BATCH,
        bytesOf: weightOf,
      },
    );
  }

  async add(entry: AddEntry<Payload>): Promise<boolean> {
    return (await this.#calls.submit(null, this.#addition(entry))) === 0;
  }

  async addMany(
    entries: Iterable<AddEntry<Payload>> | AsyncIterable<AddEntry<Payload>>,
    options: AddManyOptions,
  ): Promise<AddManyResult> {
    return addMany(entries, resolveAddManyOptions(options), async (batch) =>
      this.#calls.submitAll(null, inOrder(batch.map((entry) => this.#addition(entry)))),
    );
  }

  async remove(key: string): Promise<boolean> {
    const known = membersOf(requireName('key', key));
    return (await this.#calls.submit(null, ['remove', idOf(key), '', '', known.length, ...known])) === 1;
  }

  async boost(key: string, by: number, options: BoostOptions): Promise<number | null> {
    const { id } = resolveBoostOptions(options);
    const known = membersOf(requireName('key', key));
    const request = id === undefined ? '' : idOf(requireName('id', id));
    const change: Change = ['boost', idOf(key), requireNumber('by', by), request, known.length, ...known];
    const score = await this.#calls.submit(null, change);
    if (score === '!') throw new RequestReusedError(id!);
    return score === '' ? null : Number(score);
  }

  #addition(entry: AddEntry<Payload>): Change {
    const { key, display = key, payload, score } = requireEntry(entry);
    requireName('key', key);
    requireName('display', display);
    if (score !== undefined) requireNumber('score', score);
    if (score !== undefined && score < 0 && this.#options.halfLifeMs > 0) {
      throw new ArgumentRangeError(`score must be 0 or more with halfLifeMs, got ${score}`);
    }
    const aliases = aliasesOf(entry, this.#options);
    const { id, members, card } = storeEntry({ key, display, aliases, payload });
    const known = membersOf(key);
    return ['add', id, score ?? '', card, known.length, ...known, members.length, ...members];
  }
}

function weightOf(change: Change): number {
  const [what, , , card, known, member] = change;
  const isHandle =
    what === 'add' && card === '' && known === 1 && change.length === 8 && change[7] === member;
  return isHandle ? 1 : Math.max(LEAST_WEIGHT, change.length - 6);
}

/**
 * Additions in the order of their keys: a script call then reads the ends of fewer top sets. Those of one key stay in their
 * order, so the last one counts. A batch that has an order stays as it is, which fills blocks.
 */
function inOrder(additions: readonly Change[]): readonly Change[] {
  const ids = additions.map(([, id]) => id!);
  const rises = ids.filter((id, index) => index > 0 && id > ids[index - 1]!).length;
  if (Math.min(rises, ids.length - rises) < ids.length / 10) return additions;
  return additions.toSorted(([, a], [, b]) => (a! < b! ? -1 : Number(a! > b!)));
}
