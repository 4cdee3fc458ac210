/**
 * A book as it lies in Redis: names in blocks, each with a part of the order of bytes, which the directory tells; top sets with the
 * best names of some prefixes; cards. These checks hold at any moment, after any fault.
 */
import { Cluster, type Redis } from 'ioredis';

export interface StoredBook {
  /** Names of all blocks, each with its rank, in order. */
  readonly members: readonly string[];
  readonly cards: Readonly<Record<string, string>>;
  readonly size: number;
  readonly blocks: number;
  readonly tops: number;
  /** The broken rules. */
  readonly faults: readonly string[];
}

interface Ranked {
  readonly member: string;
  readonly rank: number;
}

/** The most members of a listpack by the server's default: a larger block costs more memory. */
const MOST_BLOCK = 128;

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
/** Prefixes of top sets end anywhere in a code point. */
const bytesOf = (text: string): string => Buffer.from(text).toString('latin1');

/** The content of the only book with this prefix. */
export async function readStoredBook(redis: Redis | Cluster, prefix: string): Promise<StoredBook> {
  const all = await keysOf(redis, prefix);
  const named = (part: string): Map<string, string> =>
    new Map(
      all
        .filter((key) => partOf(key).startsWith(`${part}:`))
        .map((key) => [partOf(key).split(':').slice(2).join(':'), key]),
    );
  const [directory] = named('directory').values();
  const [meta] = named('meta').values();
  const [cards] = named('cards').values();
  const blocks = new Map<string, Ranked[]>();
  for (const [id, key] of named('b')) blocks.set(id, await readRanked(redis, key));
  const tops = new Map<string, Ranked[]>();
  for (const [of, key] of named('t')) tops.set(of, await readRanked(redis, key));
  const entries = directory === undefined ? [] : await redis.zrange(directory, '0', '-1');
  const members = [...blocks.values()].flat();
  return {
    members: members.map(({ member, rank }) => `${rank} ${member}`).toSorted(byBytes),
    cards: cards === undefined ? {} : await redis.hgetall(cards),
    size: meta === undefined ? 0 : Number((await redis.hget(meta, 'size')) ?? 0),
    blocks: blocks.size,
    tops: tops.size,
    faults: [...faultsOfBlocks(entries, blocks), ...faultsOfTops(tops, members)],
  };
}

function faultsOfBlocks(
  entries: readonly string[],
  blocks: ReadonlyMap<string, readonly Ranked[]>,
): string[] {
  const places = entries.map((entry) => entry.split('\0') as [start: string, id: string]);
  if (places.length === 0 && blocks.size > 0) places.push(['', '0']);
  const faults: string[] = [];
  for (const id of blocks.keys()) {
    if (!places.some(([, listed]) => listed === id)) faults.push(`block ${id} is not in the directory`);
  }
  for (const [index, [start, id]] of places.entries()) {
    const block = blocks.get(id) ?? [];
    const behind = places[index + 1]?.[0];
    if (block.length > MOST_BLOCK) faults.push(`block ${id} has ${block.length} names`);
    for (const { member } of block) {
      const isInPlace = byBytes(member, start) >= 0 && (behind === undefined || byBytes(member, behind) < 0);
      if (!isInPlace) faults.push(`${JSON.stringify(member)} is in block ${id}, which begins at ${start}`);
    }
  }
  const seen = new Set<string>();
  for (const { member } of [...blocks.values()].flat()) {
    if (seen.has(member)) faults.push(`${JSON.stringify(member)} is in two blocks`);
    seen.add(member);
  }
  return faults;
}

/** By which a whole book has its entries: of each the first member that isn't for two words. */
function firstsOf(members: readonly Ranked[]): Set<string> {
  const firsts = new Map<string, string>();
  for (const { member } of members) {
    if (member.startsWith('\u0003')) continue;
    const id = member.split('\u0001')[1] ?? `\u0001${member}`;
    const first = firsts.get(id);
    if (first === undefined || byBytes(member, first) < 0) firsts.set(id, member);
  }
  return new Set(firsts.values());
}

/** A top set has every name that is better than its last one. The prefixes are bytes, each a character. */
function faultsOfTops(tops: ReadonlyMap<string, readonly Ranked[]>, members: readonly Ranked[]): string[] {
  const ordered = members
    .toSorted((a, b) => a.rank - b.rank || byBytes(a.member, b.member))
    .map((ranked) => ({ ...ranked, bytes: bytesOf(ranked.member) }));
  const firsts = firstsOf(members);
  return [...tops].flatMap(([prefix, top]) => {
    const best: Ranked[] = [];
    for (const ranked of ordered) {
      if (best.length === top.length) break;
      const isIn = prefix === '' ? firsts.has(ranked.member) : ranked.bytes.startsWith(prefix);
      if (isIn) best.push(ranked);
    }
    const isRight = top.every(
      ({ member, rank }, place) => best[place]?.member === member && best[place].rank === rank,
    );
    return isRight ? [] : [`the top set of ${JSON.stringify(prefix)} is not the best of it`];
  });
}

async function readRanked(redis: Redis | Cluster, key: string): Promise<Ranked[]> {
  const flat = await redis.zrange(Buffer.from(key, 'latin1'), '0', '-1', 'WITHSCORES');
  return Array.from({ length: flat.length / 2 }, (_, index) => ({
    member: flat[2 * index]!,
    rank: Number(flat[2 * index + 1]),
  }));
}

async function keysOf(redis: Redis | Cluster, prefix: string): Promise<string[]> {
  const nodes = redis instanceof Cluster ? redis.nodes('master') : [redis];
  const keys = (await Promise.all(nodes.map((node) => node.keysBuffer(`${prefix}:*`)))).flat();
  return keys.map((key) => key.toString('latin1'));
}

/** After the entity. A key has only ASCII before it, if `prefix` has. */
function partOf(key: string): string {
  return key.slice(key.indexOf('}:') + 2);
}
