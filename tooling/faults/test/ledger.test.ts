/** The ledger must see a server that has forgotten, or it would excuse nothing, and one that has not, or it would excuse all. */
import { expect, test } from '@jest/globals';
import { runServer, until } from '@mortise/test-kit';
import { Ledger } from '../src/ledger.js';

const KEY = 'ledger';
const { server } = await runServer({ appendFsync: 'always' });

test('counts what was accepted and is gone, and nothing else', async () => {
  const ledger = new Ledger({ url: server.url }, KEY);
  const hasCounted = (least: number): Promise<unknown> =>
    until('counts', async () => Number(await server.command('GET', KEY)) >= least);
  await hasCounted(20);
  await server.kill();
  await server.restart();
  await ledger.settled();
  expect(ledger.losses).toBe(0);

  await server.command('SET', KEY, '5');
  await ledger.settled();
  await hasCounted(10);
  expect(ledger.losses).toBeGreaterThanOrEqual(1);
  await ledger.close();
});
