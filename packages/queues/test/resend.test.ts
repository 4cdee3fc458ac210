/** ioredis resends a command whose reply was lost: the answers of each write after that, and the stored state. */
import { expect, test } from '@jest/globals';
import { Claims, Queue } from '@mortise/queues';
import type { ClaimedTask } from '@mortise/queues';
import { connect, freshPrefix, Recording, resending } from '@mortise/test-kit';

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

interface Bench {
  /** Sends each command once. */
  readonly queue: Queue<Tasks>;
  readonly claims: Claims<Tasks>;
  /** Sends each command twice, and gets the second reply. */
  readonly twice: { readonly queue: Queue<Tasks>; readonly claims: Claims<Tasks> };
}

interface Write {
  /** Stores the task `a`. Default: as a ready one. */
  readonly before?: (bench: Bench) => Promise<unknown>;
  readonly act: (bench: Bench, claimed: ClaimedTask<Tasks>) => Promise<unknown>;
  /** The code of an error, or the result. */
  readonly answer: unknown;
  readonly look?: (bench: Bench) => Promise<unknown>;
  /** Matches the task `a`, or what `look` sees. */
  readonly stored: unknown;
}

const HOUR_MS = 3_600_000;
const DAILY = { cron: '0 0 * * *' } as const;
const redis = connect();
const resent = resending(redis);

const enqueued = ({ queue }: Bench) => queue.enqueue('t', 1, { id: 'a' });
const nothing = async () => undefined;

async function claimed(bench: Bench): Promise<ClaimedTask<Tasks>> {
  await enqueued(bench);
  const [task] = await bench.claims.claim({ leaseMs: HOUR_MS });
  return task!;
}

async function dead(bench: Bench): Promise<void> {
  const { lease } = await claimed(bench);
  await bench.claims.fail('a', lease, { error: 'no', retry: false });
}

const writes: Readonly<Record<string, Write>> = {
  'enqueue with an id': {
    before: nothing,
    act: ({ twice }) => twice.queue.enqueue('t', 1, { id: 'a' }),
    answer: { id: 'a', isDuplicate: true },
    stored: { state: 'ready' },
  },
  'enqueueMany with ids': {
    before: nothing,
    act: ({ twice }) => twice.queue.enqueueMany([{ name: 't', payload: 1, options: { id: 'a' } }]),
    answer: [{ id: 'a', isDuplicate: true }],
    stored: { state: 'ready' },
  },
  'enqueueFlow with an id': {
    before: nothing,
    act: ({ twice }) =>
      twice.queue.enqueueFlow({
        name: 't',
        payload: 1,
        options: { id: 'a' },
        children: [{ name: 't', payload: 2 }],
      }),
    answer: expect.objectContaining({ id: 'a', isDuplicate: true }),
    // A worker stores the child.
    look: ({ queue }) => queue.counts(),
    stored: { waiting: 1 },
  },
  cancel: {
    act: ({ twice }) => twice.queue.cancel('a'),
    answer: false,
    stored: { state: 'cancelled' },
  },
  remove: {
    act: ({ twice }) => twice.queue.remove('a'),
    answer: false,
    stored: null,
  },
  retry: {
    before: dead,
    act: ({ twice }) => twice.queue.retry('a'),
    answer: false,
    stored: { state: 'ready', attempt: 0 },
  },
  promote: {
    before: ({ queue }) => queue.enqueue('t', 1, { id: 'a', delayMs: HOUR_MS }),
    act: ({ twice }) => twice.queue.promote('a'),
    answer: false,
    stored: { state: 'ready' },
  },
  reschedule: {
    act: ({ twice }) => twice.queue.reschedule('a', { delayMs: HOUR_MS }),
    answer: true,
    stored: { state: 'scheduled' },
  },
  'deliver with an id': {
    act: ({ twice }) => twice.queue.deliver('a', 'e', 1, { id: 'd' }),
    answer: true,
    stored: { state: 'ready' },
  },
  'enqueue with a dedupKey': {
    before: nothing,
    act: async ({ twice }) => (await twice.queue.enqueue('t', 1, { dedupKey: 'k' })).isDuplicate,
    answer: false,
    look: ({ queue }) => queue.counts(),
    stored: { ready: 1 },
  },
  // The element is there twice.
  'enqueue that appends': {
    before: ({ queue }) => queue.enqueue('t', [1], { dedupKey: 'k', onDuplicate: 'append' }),
    act: async ({ twice }) =>
      (await twice.queue.enqueue('t', [2], { dedupKey: 'k', onDuplicate: 'append' })).isDuplicate,
    answer: true,
    look: async ({ queue }) => (await queue.list('ready')).tasks[0],
    stored: { payload: [1, 2, 2] },
  },
  setPayload: {
    act: ({ twice }) => twice.queue.setPayload('a', 2),
    answer: true,
    stored: { state: 'ready', payload: 2 },
  },
  setPriority: {
    act: ({ twice }) => twice.queue.setPriority('a', 'high'),
    answer: true,
    stored: { state: 'ready', priority: 'high' },
  },
  retryAll: {
    before: dead,
    act: ({ twice }) => twice.queue.retryAll(),
    answer: 0,
    stored: { state: 'ready' },
  },
  drain: {
    act: ({ twice }) => twice.queue.drain(),
    answer: 0,
    stored: null,
  },
  clean: {
    before: dead,
    act: ({ twice }) => twice.queue.clean('dead'),
    answer: 0,
    stored: null,
  },
  obliterate: {
    act: ({ twice }) => twice.queue.obliterate(),
    answer: false,
    stored: null,
  },
  pause: {
    act: ({ twice }) => twice.queue.pause(),
    answer: undefined,
    look: ({ queue }) => queue.settings(),
    stored: { isPaused: true },
  },
  resume: {
    before: ({ queue }) => queue.pause(),
    act: ({ twice }) => twice.queue.resume(),
    answer: undefined,
    look: ({ queue }) => queue.settings(),
    stored: { isPaused: false },
  },
  configure: {
    act: ({ twice }) => twice.queue.configure({ concurrency: 5, groups: { concurrency: 1 } }),
    answer: undefined,
    look: ({ queue }) => queue.settings(),
    stored: { concurrency: 5, groupConcurrency: 1 },
  },
  schedule: {
    before: nothing,
    act: ({ twice }) => twice.queue.schedule('k', DAILY, 't', 1),
    answer: { key: 'k', nextAt: expect.any(Number), isChanged: false },
    look: ({ queue }) => queue.schedules(),
    stored: [{ key: 'k', runs: 0 }],
  },
  'schedule with another rule': {
    before: ({ queue }) => queue.schedule('k', DAILY, 't', 1),
    act: ({ twice }) => twice.queue.schedule('k', { everyMs: HOUR_MS }, 't', 1),
    answer: { key: 'k', nextAt: expect.any(Number), isChanged: false },
    look: ({ queue }) => queue.schedules(),
    stored: [{ rule: { everyMs: HOUR_MS } }],
  },
  unschedule: {
    before: ({ queue }) => queue.schedule('k', DAILY, 't', 1),
    act: ({ twice }) => twice.queue.unschedule('k'),
    answer: false,
    look: ({ queue }) => queue.schedules(),
    stored: [],
  },
  claim: {
    act: ({ twice }) => twice.claims.claim({ leaseMs: HOUR_MS }),
    answer: [],
    stored: { state: 'active', attempt: 1 },
  },
  complete: {
    before: claimed,
    act: ({ twice }, { lease }) => twice.claims.complete('a', lease, 'done'),
    answer: 'ERR_LEASE_LOST',
    stored: { state: 'succeeded', result: 'done' },
  },
  fail: {
    before: claimed,
    act: ({ twice }, { lease }) => twice.claims.fail('a', lease, { error: 'no', delayMs: HOUR_MS }),
    answer: 'ERR_LEASE_LOST',
    stored: { state: 'retrying', attempt: 1, error: { message: 'no' } },
  },
  giveBack: {
    before: claimed,
    act: ({ twice }, { lease }) => twice.claims.giveBack('a', lease),
    answer: 'ERR_LEASE_LOST',
    stored: { state: 'ready', attempt: 0 },
  },
  heartbeat: {
    before: claimed,
    act: ({ twice }, { lease }) => twice.claims.heartbeat('a', lease, HOUR_MS),
    answer: undefined,
    stored: { state: 'active' },
  },
  progress: {
    before: claimed,
    act: ({ twice }, { lease }) => twice.claims.progress('a', lease, 5),
    answer: undefined,
    stored: { progress: 5 },
  },
  log: {
    before: claimed,
    act: ({ twice }, { lease }) => twice.claims.log('a', lease, 'line'),
    answer: undefined,
    stored: { logs: [{ text: 'line' }, { text: 'line' }] },
  },
};

test.each(Object.entries(writes))('%s, sent twice', async (_, write) => {
  const prefix = freshPrefix();
  const on = (client: typeof redis) => ({
    queue: new Queue<Tasks>(client, 'q', { prefix }),
    claims: new Claims<Tasks>(client, 'q', { prefix }),
  });
  const bench: Bench = { ...on(redis), twice: on(resent) };
  const { before = enqueued, act, answer, look = () => bench.queue.get('a'), stored } = write;
  const given = (await before(bench)) as ClaimedTask<Tasks>;
  const outcome = await act(bench, given).catch((error: unknown) => (error as { code?: string }).code);
  expect(outcome).toEqual(answer);
  expect([await look(bench)]).toMatchObject([stored]);
  await Promise.all([bench.claims.stop(), bench.twice.claims.stop()]);
});

const TASK = { name: 't', payload: 1 };

test.each<[string, (queue: Queue) => Promise<readonly { isDuplicate: boolean }[]>, number]>([
  ['enqueue', async (queue) => [await queue.enqueue('t', 1)], 1],
  ['enqueueMany', (queue) => queue.enqueueMany([TASK, TASK]), 2],
  ['enqueueFlow', async (queue) => [await queue.enqueueFlow({ ...TASK, children: [TASK] })], 2],
  ['enqueueFlow without children', async (queue) => [await queue.enqueueFlow(TASK)], 1],
])('%s: a task whose command was sent twice is new under an id of the call', async (_, enqueue, tasks) => {
  const telemetry = new Recording();
  const queue = new Queue(resent, 'q', { prefix: freshPrefix(), telemetry });
  const stored = await enqueue(queue);
  expect(stored.map(({ isDuplicate }) => isDuplicate)).toEqual(stored.map(() => false));
  const { ready, waiting } = await queue.counts();
  // A relay stores the children of a flow.
  expect(ready + waiting).toBe(stored.length);
  expect(telemetry.totals).toEqual({ enqueued: tasks });
});
