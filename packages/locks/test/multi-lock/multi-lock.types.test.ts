import { expect, test } from '@jest/globals';
import { MultiLock } from '@mortise/locks';
import type { Lease, MultiLease, MutexState } from '@mortise/locks';
import { QuorumMutex } from '@mortise/locks/quorum';
import type { QuorumMutexState } from '@mortise/locks/quorum';
import { connect, freshPrefix } from '@mortise/test-kit';

const redis = connect();

test('a multi-lock takes names and gives a lease with a token for each', async () => {
  const names: readonly string[] = ['a', 'b'];
  const lock = new MultiLock(redis, names, { prefix: freshPrefix() });
  const lease: MultiLease | null = await lock.tryAcquire();
  const tokens: ReadonlyMap<string, number> = lease!.fencingTokens;
  // @ts-expect-error -- there is no single token of several locks
  expect(lease.fencingToken).toBeUndefined();
  // @ts-expect-error -- nor is it the lease of a mutex
  const other: Lease = lease!;
  const states: ReadonlyMap<string, MutexState> = await lock.inspect();
  const result: number = await lease!.release().then(() => lock.using((_, held) => held.fencingTokens.size));
  expect([tokens.size, other, states.size, result]).toEqual([2, lease, 2, 2]);
  // @ts-expect-error -- one name is no list
  expect(() => new MultiLock(redis, 'a')).toThrow(TypeError);
});

test('a quorum takes clients and gives a lease', () => {
  // @ts-expect-error -- one client is no list
  expect(() => new QuorumMutex(redis, 'lock')).toThrow(TypeError);
  // @ts-expect-error -- there are no queues, so it is not fair, and no tokens
  const refused: ConstructorParameters<typeof QuorumMutex>[2] = { fair: true, fencing: true };
  const acquired: (mutex: QuorumMutex) => Promise<Lease> = (mutex) => mutex.acquire({ waitMs: 1 });
  const holderOf = ({ holder, votes }: QuorumMutexState): string | null => votes[0]?.holder ?? holder;
  expect([refused, typeof acquired, typeof holderOf]).toEqual([expect.anything(), 'function', 'function']);
});
