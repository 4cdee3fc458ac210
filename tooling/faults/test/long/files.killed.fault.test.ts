/**
 * A sender, three workers that count and a receiver that copies are killed, and their connections cut, at any moment. At the end the counts
 * are those of a single pass over the logs, to the unit; the copies are the logs; and no chunk, mark or announcement is left.
 */
import { afterEach, expect, test } from '@jest/globals';
import { freshPrefix, runServer, until } from '@mortise/test-kit';
import type { Role } from '../../src/files/config.js';
import { GOOD, LogRun } from '../../src/files/log-run.js';

const FAULTS = 50;
/** Copied between most faults; each fourth comes at once. */
const STEP_BYTES = 100_000;
/** Commands of all that are executed while the replies to one are lost. */
const LOST_REPLIES = 50;

const { server } = await runServer({ isCluster: true });
let run: LogRun | undefined;

afterEach(async () => {
  await run?.dispose();
  run = undefined;
});

function oneOf<Item>(items: readonly Item[]): Item {
  return items[Math.floor(Math.random() * items.length)]!;
}

async function startRun(files: number): Promise<LogRun> {
  run = await LogRun.start(server, { prefix: freshPrefix(), files, pauseMs: 5 });
  return run;
}

/** Executed for all. */
async function commandsExecuted(): Promise<number> {
  const stats = String(await server.command('INFO', 'stats'));
  return Number(/^total_commands_processed:(\d+)/m.exec(stats)![1]);
}

const FAULTS_BY_NAME = {
  'sender killed': (of) => of.of('send')[0]!.replace(),
  'worker killed': (of) => oneOf(of.of('count')).replace(),
  'copier killed': (of) => of.of('copy')[0]!.replace(),
  'all killed': async (of) => {
    await Promise.all(of.actors.map((actor) => actor.replace()));
  },
  'connections killed': () => server.command('CLIENT', 'KILL', 'TYPE', 'normal'),
  'subscriptions killed': () => server.command('CLIENT', 'KILL', 'TYPE', 'pubsub'),
  'connections of one cut': (of) => Promise.resolve(oneOf(of.actors).proxy!.cut()),
  'replies to one lost': async (of) => {
    const proxy = oneOf(of.actors).proxy!;
    proxy.dropReplies();
    // Those of the one among them; when all wait for it, leases are renewed still.
    const before = await commandsExecuted();
    await until('commands', async () => (await commandsExecuted()) >= before + LOST_REPLIES);
    await proxy.restore();
  },
} satisfies Record<string, (run: LogRun) => Promise<unknown>>;

type Fault = keyof typeof FAULTS_BY_NAME;

/** As often as they are named. */
const ANY: readonly Fault[] = [
  'sender killed',
  'sender killed',
  'sender killed',
  'worker killed',
  'worker killed',
  'worker killed',
  'copier killed',
  'copier killed',
  'all killed',
  'connections killed',
  'subscriptions killed',
  'connections of one cut',
  'replies to one lost',
];

test(`${FAULTS} faults at random: the counts are exact, and nothing is left`, async () => {
  const logs = await startRun(80);
  const met: Partial<Record<Fault, number>> = {};
  for (let time = 0; time < FAULTS; time += 1) {
    if (time % 4 > 0) await logs.movesOn(STEP_BYTES);
    const fault = oneOf(ANY);
    met[fault] = (met[fault] ?? 0) + 1;
    await FAULTS_BY_NAME[fault](logs);
  }
  // All of it was done to a run that was under way.
  expect(logs.hasEnded).toBe(false);
  const copiedBefore = logs.copiedBytes;
  const verdict = await logs.verdict();
  process.stdout.write(
    `files: ${logs.kills} processes killed, ${copiedBefore} of ${logs.copiedBytes} bytes copied in ${FAULTS} faults ` +
      `${JSON.stringify(met)}; refusals: ${JSON.stringify(logs.refusals)}\n`,
  );
  expect(verdict).toEqual(GOOD);
});

test.each<{ who: string; roles: readonly Role[] }>([
  { who: 'who sends', roles: ['send'] },
  { who: 'who counts', roles: ['count'] },
  { who: 'who copies', roles: ['copy'] },
])('SIGKILL of $who, again and again: the counts are exact, and nothing is left', async ({ roles }) => {
  const logs = await startRun(20);
  for (let time = 0; time < 6; time += 1) {
    await logs.movesOn(STEP_BYTES);
    await Promise.all(roles.map((role) => logs.of(role)[time % logs.of(role).length]!.replace()));
  }
  expect(logs.hasEnded).toBe(false);
  expect(await logs.verdict()).toEqual(GOOD);
});
