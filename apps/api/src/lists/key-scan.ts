/**
 * Pages through the keys of a pattern, for operators. Locks have no index, because it would charge every acquisition for
 * a rare list (docs/decisions/0023). A page runs a few SCANs, bounded in keys and in time. So the list of a large database has many short pages,
 * some of them empty, and no long command. On Cluster it visits one master after the other, in the order of their addresses.
 *
 * As with SCAN, a key that exists all the time is found. A key that is created, deleted or moved meanwhile may be found,
 * twice, or not at all.
 */
import type { CommandArgument, RedisClient } from '@mortise/redis';
import { Cluster } from 'ioredis';

import { InvalidCursorError } from '../market/index.js';

/** Keys that one SCAN visits: about 0.1 ms of the server; other commands run in between. */
const STEP_KEYS = 200;
const MAX_STEPS = 50;
const MAX_PAGE_MS = 100;

/** The address of a master, or `-` for a single server; then the cursor of SCAN. */
const CURSOR = /^([^ ]+) (\d{1,20})$/;

interface Node {
  readonly address: string;
  call(command: string, args: CommandArgument[]): Promise<unknown>;
}

export interface KeyScan {
  /** In SCAN's syntax. */
  readonly pattern: string;
  /** Only keys of this type. */
  readonly type?: string;
  readonly limit: number;
  readonly cursor: string | undefined;
}

export interface FoundKeys {
  readonly keys: readonly string[];
  readonly nextCursor: string | null;
}

/**
 * Keys of the pattern, until `limit` or a bound is reached; the last step may find up to `STEP_KEYS` more. At most
 * `MAX_STEPS` round trips. Throws ERR_INVALID_CURSOR.
 */
export async function scanKeys(
  redis: RedisClient,
  { pattern, type, limit, cursor }: KeyScan,
): Promise<FoundKeys> {
  const endsAt = performance.now() + MAX_PAGE_MS;
  const from = readCursor(cursor);
  const nodes = nodesOf(redis).filter(({ address }) => address >= from.address);
  const filter = ['MATCH', pattern, 'COUNT', STEP_KEYS, ...(type === undefined ? [] : ['TYPE', type])];
  const found = new Set<string>();
  let steps = 0;
  for (const node of nodes) {
    let position = node.address === from.address ? from.position : '0';
    do {
      if (steps === MAX_STEPS || found.size >= limit || (steps > 0 && performance.now() > endsAt)) {
        return { keys: [...found], nextCursor: writeCursor(node.address, position) };
      }
      const reply = await node.call('scan', [position, ...filter]);
      const [next, keys] = reply as [string, string[]];
      for (const key of keys) found.add(key);
      position = next;
      steps += 1;
    } while (position !== '0');
  }
  return { keys: [...found], nextCursor: null };
}

function nodesOf(redis: RedisClient): Node[] {
  if (!(redis instanceof Cluster)) return [{ address: '-', call: redis.call.bind(redis) }];
  return redis
    .nodes('master')
    .map((node) => ({
      address: `${node.options.host}:${node.options.port}`,
      call: (command: string, args: CommandArgument[]) => node.call(command, args),
    }))
    .toSorted((a, b) => (a.address < b.address ? -1 : 1));
}

function readCursor(cursor: string | undefined): { address: string; position: string } {
  if (cursor === undefined) return { address: '', position: '0' };
  const [, address = '', position = ''] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  // SCAN accepts any 64-bit number, and begins somewhere.
  const isSound =
    position !== '' && BigInt(position) < 2n ** 64n && writeCursor(address, position) === cursor;
  if (!isSound) throw new InvalidCursorError();
  return { address, position };
}

function writeCursor(address: string, position: string): string {
  return Buffer.from(`${address} ${position}`).toString('base64url');
}
