/**
 * The names of a group of people, completed best first. Not exported yet: words in any order, typing errors, `matches` and paging
 * are missing.
 *
 * Names are members of small sorted sets, the blocks, each a range of the order of bytes and ranked by score: so a block is a plain
 * list in Redis' memory, and a name of 12 bytes takes about 30 with all there is. A directory tells which block a name is in. A
 * prefix of so many names that it covers a block has a top set, with the best of them; whatever ranks before the last one there is
 * in it, so it is exact as far as it goes, and what goes further is merged from its parts.
 *
 * Rejected: one sorted set in the order of bytes and one by score (230 B a name), a sorted set for each prefix (550 to 630 B), and
 * a block as one packed string (2 KB of replication for each change of a score).
 */
import { Coalescer, requireClient, requireName } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import type { BookKeys } from '../keys.js';
import { AutocompleteKeys } from '../keys.js';
import type { AddEntry, AddressBookOptions, CompleteBookOptions } from '../options.js';
import { resolveLimit } from '../options.js';
import { bookApply, bookComplete } from '../scripts.gen.js';
import { membersOf, readEntry, storeEntry } from './entry.js';
import { wordsOf } from './forms.js';

const MAX_BATCH = 64;

export interface Suggestion<Payload> {
  readonly key: string;
  readonly display: string;
  readonly score: number;
  readonly payload: Payload | undefined;
}

export class AddressBook<Payload = unknown> {
  readonly #redis: RedisClient;
  readonly #keys: BookKeys;
  readonly #halfLifeMs: number;
  readonly #changes: Coalescer<null, readonly (string | number)[], string | number>;

  constructor(redis: RedisClient, name: string, options: AddressBookOptions = {}) {
    this.#redis = requireClient(redis);
    this.#keys = new AutocompleteKeys(options.prefix).book(requireName('name', name));
    this.#halfLifeMs = options.halfLifeMs ?? 0;
    this.#changes = new Coalescer(
      async (_, changes) =>
        (await bookApply.run(redis, this.#keys, {
          halfLifeMs: this.#halfLifeMs,
          changes: changes.flat(),
        })) as (string | number)[],
      { maxBatch: MAX_BATCH },
    );
  }

  async add(entry: AddEntry<Payload>): Promise<boolean> {
    const { key, display = key, aliases = [], payload, score = '' } = entry;
    const { id, members, card } = storeEntry({ key, display, aliases, payload });
    const known = membersOf(key);
    const change = ['add', id, score, card, known.length, ...known, members.length, ...members];
    return (await this.#changes.submit(null, change)) === 0;
  }

  async remove(key: string): Promise<boolean> {
    const { id } = storeEntry({ key, display: key, aliases: [], payload: undefined });
    const known = membersOf(key);
    return (await this.#changes.submit(null, ['remove', id, '', '', known.length, ...known])) === 1;
  }

  async boost(key: string, by = 1): Promise<number | null> {
    const { id } = storeEntry({ key, display: key, aliases: [], payload: undefined });
    const known = membersOf(key);
    const score = await this.#changes.submit(null, ['boost', id, by, '', known.length, ...known]);
    return score === '' ? null : Number(score);
  }

  async complete(text: string, options: CompleteBookOptions = {}): Promise<Suggestion<Payload>[]> {
    const limit = resolveLimit(options);
    const reply = (await bookComplete.run(this.#redis, this.#keys, {
      halfLifeMs: this.#halfLifeMs,
      prefix: wordsOf(text).join(' '),
      limit,
      afterRank: '',
      afterMember: '',
    })) as [string[], string[]?, string?];
    const [members, cards, halfLives = '0'] = reply;
    const found: Suggestion<Payload>[] = [];
    for (let index = 0; index < members.length; index += 2) {
      const { key, display, payload } = readEntry(members[index]!, cards?.[index / 2] ?? '');
      const rank = Number(members[index + 1]);
      const score =
        this.#halfLifeMs === 0 ? 0 - rank : rank === 0 ? 0 : 2 ** (-rank / 1000 - Number(halfLives));
      found.push({ key, display, score, payload: payload as Payload | undefined });
    }
    return found;
  }

  async size(): Promise<number> {
    return Number((await this.#redis.call('hget', [this.#keys.meta, 'size'])) ?? 0);
  }
}
