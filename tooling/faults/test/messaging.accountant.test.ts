/** Scripts are broken, and the accountant finds it: what the fault suite would see. */
import { afterEach, expect, test } from '@jest/globals';
import type { RedisServer } from '@mortise/redis-server';
import { startProxy, startSingle } from '@mortise/redis-server';
import { freshPrefix, until } from '@mortise/test-kit';
import type { Rule } from '../src/messaging/accountant.js';
import { ChatRun } from '../src/messaging/chat-run.js';
import type { Sabotage } from '../src/messaging/config.js';

let server: RedisServer;
let run: ChatRun;

afterEach(async () => {
  await run?.dispose();
  await server?.stop();
});

test('ids of senders are not noted: a post whose reply was lost is there twice', async () => {
  server = await startSingle({ isCluster: true });
  const proxy = await startProxy(server);
  const prefix = freshPrefix();
  run = await ChatRun.start(
    { url: proxy.url },
    {
      prefix,
      chats: ['a'],
      actors: { post: 1, pull: 1, follow: 0 },
      sabotage: 'ids of senders are not noted',
    },
  );
  const lastId = async (): Promise<number> =>
    -Number(await server.command('ZSCORE', `${prefix}:messaging:{a}:chat`, '\0l'));
  try {
    await run.movesOn(10);
    proxy.dropReplies();
    // A reply that had passed before is written down by its sender in the meantime.
    let looks = 0;
    await until('a post whose reply is lost', async () => {
      looks = (await lastId()) > run.accepted ? looks + 1 : 0;
      return looks === 50;
    });
    proxy.cut();
    await proxy.restore();
    await run.movesOn(10);
    const { violations } = await run.verdict();
    expect(violations.map(({ rule }) => rule)).toContain('doubled');
  } finally {
    await run.dispose();
    await proxy.stop();
  }
});

test('acks free what others have not read: they find a gap', async () => {
  server = await startSingle({ isCluster: true });
  run = await ChatRun.start(
    { url: server.url },
    {
      prefix: freshPrefix(),
      actors: { post: 2, pull: 4, follow: 0 },
      sabotage: 'acks free what others have not read',
    },
  );
  await run.movesOn(20);
  const { violations } = await run.verdict({ withinMs: 1_000 });
  expect(violations.map(({ rule }) => rule)).toContain('noted');
});

test.each<{ sabotage: Sabotage; rule: Rule }>([
  { sabotage: 'acks of a device free what others have not received', rule: 'noted' },
  { sabotage: 'acks of a device are not noted', rule: 'returned' },
])('$sabotage: $rule', async ({ sabotage, rule }) => {
  server = await startSingle({ isCluster: true });
  const actors = { post: 0, pull: 0, follow: 0, send: 2, receive: 3 };
  run = await ChatRun.start({ url: server.url }, { prefix: freshPrefix(), actors, sabotage });
  await run.movesOn(20);
  const { violations } = await run.verdict({ withinMs: 1_000 });
  expect(violations.map((violation) => violation.rule)).toContain(rule);
});
