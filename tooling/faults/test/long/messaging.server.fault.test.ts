/** Redis is killed and started again, and connections break, while processes post, pull and follow. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import type { RedisServer } from '@mortise/redis-server';
import { startProxy, startSingle } from '@mortise/redis-server';
import { freshPrefix } from '@mortise/test-kit';
import { ChatRun, describeAccount } from '../../src/messaging/chat-run.js';

let server: RedisServer;
let run: ChatRun;

afterEach(async () => {
  await run?.dispose();
  await server?.stop();
});

test('SIGKILL of Redis, which writes before it answers: everybody gets every message, in order', async () => {
  server = await startSingle({ isCluster: true, appendFsync: 'always' });
  run = await ChatRun.start({ url: server.url }, { prefix: freshPrefix() });
  for (let time = 0; time < 3; time += 1) {
    await run.movesOn(50);
    await run.during(async () => {
      await server.kill();
      await server.restart();
    });
    await run.actors[(2 * time) % run.actors.length]!.replace();
  }
  await run.movesOn(50);
  const account = await run.verdict();
  process.stdout.write(describeAccount(run, account));
  expect(account.violations).toEqual([]);
});

test('replies are lost, for all: every message is there once', async () => {
  server = await startSingle({ isCluster: true });
  const proxy = await startProxy(server);
  run = await ChatRun.start({ url: proxy.url }, { prefix: freshPrefix() });
  try {
    for (let time = 0; time < 4; time += 1) {
      await run.movesOn(50);
      await run.during(async () => {
        proxy.dropReplies();
        await pause(150);
        proxy.cut();
        await proxy.restore();
      });
    }
    await run.movesOn(50);
    const account = await run.verdict();
    process.stdout.write(describeAccount(run, account));
    expect(account.violations).toEqual([]);
    // Of these the first reply was lost.
    expect(account.repeatedPosts).toBeGreaterThan(0);
  } finally {
    await run.dispose();
    await proxy.stop();
  }
});

test('connections are cut, again and again: everybody gets every message, in order', async () => {
  server = await startSingle({ isCluster: true });
  const proxy = await startProxy(server);
  run = await ChatRun.start({ url: proxy.url }, { prefix: freshPrefix() });
  try {
    for (let time = 0; time < 20; time += 1) {
      await run.movesOn(10);
      await run.during(() => Promise.resolve(proxy.cut()));
    }
    await run.movesOn(50);
    const account = await run.verdict();
    process.stdout.write(describeAccount(run, account));
    expect(account.violations).toEqual([]);
  } finally {
    await run.dispose();
    await proxy.stop();
  }
});
