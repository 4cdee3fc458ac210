/** Processes that post, pull and follow are killed at any moment; others take their places. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { RedisServer } from '@mortise/redis-server';
import { startSingle } from '@mortise/redis-server';
import { freshPrefix } from '@mortise/test-kit';
import type { Role } from '../../src/messaging/config.js';
import { ChatRun, describeAccount } from '../../src/messaging/chat-run.js';

let server: RedisServer;
let run: ChatRun;

beforeAll(async () => {
  server = await startSingle({ isCluster: true });
});

afterAll(() => server?.stop());
afterEach(() => run?.dispose());

test.each<{ who: string; roles: Role[] }>([
  { who: 'who posts', roles: ['post'] },
  { who: 'who pulls', roles: ['pull'] },
  { who: 'who follows', roles: ['follow'] },
  { who: 'anybody', roles: ['post', 'pull', 'follow'] },
])('SIGKILL of $who: everybody gets every message, in order', async ({ roles }) => {
  run = await ChatRun.start({ url: server.url }, { prefix: freshPrefix() });
  for (let time = 0; time < 4; time += 1) {
    await run.movesOn(50);
    await Promise.all(roles.map((role) => run.of(role)[time % 2]!.replace()));
  }
  await run.movesOn(50);
  const account = await run.verdict();
  process.stdout.write(describeAccount(run, account));
  expect(account.violations).toEqual([]);
  expect(account.accepted).toBeGreaterThan(0);
  expect(await run.leftWhenAllAcked()).toBe(0);
});
