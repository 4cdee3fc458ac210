/**
 * Processes that post, edit, pull, follow and change roles, or send to mailboxes and receive, are killed at any moment, and so are
 * connections; others take their places.
 */
import { afterEach, expect, test } from '@jest/globals';
import { freshPrefix, runServer } from '@mortise/test-kit';
import type { Role } from '../../src/messaging/config.js';
import { ChatRun, describeAccount } from '../../src/messaging/chat-run.js';

const { server } = await runServer({ isCluster: true });
let run: ChatRun;

afterEach(() => run?.dispose());

/** Those of all who run, whatever they do just now. */
async function killConnections(): Promise<void> {
  for (const type of ['normal', 'pubsub']) await server.command('CLIENT', 'KILL', 'TYPE', type);
}

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

test.each<{ who: string; roles: Role[] }>([
  { who: 'who edits', roles: ['revise'] },
  { who: 'who changes roles', roles: ['govern'] },
  { who: 'anybody', roles: ['revise', 'govern', 'pull', 'follow'] },
])(
  'SIGKILL of $who: every edit comes in its place, and cursors and roles stay what they are',
  async ({ roles }) => {
    const actors = { post: 1, revise: 2, govern: 1 };
    run = await ChatRun.start({ url: server.url }, { prefix: freshPrefix(), actors });
    for (let time = 0; time < 4; time += 1) {
      await run.movesOn(50);
      await Promise.all(roles.map((role) => run.of(role)[time % run.of(role).length]!.replace()));
      await killConnections();
    }
    await run.movesOn(50);
    const account = await run.verdict();
    process.stdout.write(describeAccount(run, account));
    expect(account.violations).toEqual([]);
    expect(account.accepted).toBeGreaterThan(0);
    for (const { wanted, found } of await run.roles()) expect(found).toBe(wanted);
    expect(await run.leftWhenAllAcked()).toBe(0);
  },
);

test.each<{ who: string; roles: Role[] }>([
  { who: 'who sends', roles: ['send'] },
  { who: 'a device that receives', roles: ['receive'] },
  { who: 'anybody', roles: ['send', 'receive'] },
  { who: 'connections only', roles: [] },
])(
  'mailboxes, SIGKILL of $who: every device gets every message, and nothing that it has acked',
  async ({ roles }) => {
    const actors = { post: 0, pull: 0, follow: 0, send: 2, receive: 3 };
    run = await ChatRun.start({ url: server.url }, { prefix: freshPrefix(), actors });
    for (let time = 0; time < 6; time += 1) {
      await run.movesOn(50);
      await Promise.all(roles.map((role) => run.of(role)[time % run.of(role).length]!.replace()));
      await killConnections();
    }
    await run.movesOn(50);
    const account = await run.verdict();
    process.stdout.write(describeAccount(run, account));
    expect(account.violations).toEqual([]);
    expect(account.accepted).toBeGreaterThan(0);
    expect(await run.leftWhenAllReceived()).toBe(0);
  },
);
