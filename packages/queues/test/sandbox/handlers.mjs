/** Handlers for the tests of the sandbox, by the payload's `act`. */
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { threadId } from 'node:worker_threads';

class Refusal extends Error {
  name = 'Refusal';
  code = 'ERR_REFUSED';
}

const coded = (message, code, more = {}) => Object.assign(new Error(message), { code, ...more });

const acts = {
  echo: (payload, { signal, ...context }) => {
    const fields = Object.entries(context).filter(([, value]) => typeof value !== 'function');
    return { payload, context: Object.fromEntries(fields), isAborted: signal.aborted, threadId };
  },
  thread: () => threadId,
  block: ({ ms }) => {
    const end = performance.now() + ms;
    while (performance.now() < end);
    return threadId;
  },
  blockUntil: ({ file }) => {
    while (!existsSync(file)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    return threadId;
  },
  refuse: () => {
    throw new Refusal('not today');
  },
  // `Discard` and `RetryLater` of the package, as seen from outside.
  discard: () => {
    throw coded('hopeless', 'ERR_DISCARDED');
  },
  later: () => {
    throw coded('busy', 'ERR_RETRY_LATER', { delayMs: 60_000 });
  },
  text: () => {
    throw 'just a text';
  },
  hostile: () => {
    throw new Proxy(new Error('never seen'), {
      get() {
        throw new Error('no');
      },
    });
  },
  exit: () => process.exit(7),
  crash: () => {
    setImmediate(() => {
      throw new Error('crashed outside of the handler');
    });
    return pause(60_000);
  },
  memory: () => {
    const kept = [];
    for (;;) kept.push(Array.from({ length: 100_000 }, () => kept.length));
  },
  // Steps run in this thread, and only once.
  steps: async ({ isAgain }, ctx) => {
    const first = await ctx.step('first', () => ({ threadId, at: new Date(0) }));
    const nothing = await ctx.step('nothing', async () => undefined);
    const caught = await ctx
      .step('throws', () => {
        throw new Refusal('not today');
      })
      .catch((error) => [error instanceof Refusal, error.message]);
    await ctx.setCursor(7);
    if (isAgain && ctx.attempt === 1) throw new Error('again');
    await ctx.sleep(1);
    return {
      first,
      nothing,
      caught,
      cursor: await ctx.cursor(),
      event: await ctx.waitFor('go', { timeoutMs: 60_000 }),
    };
  },
  unstorable: (_, ctx) => ctx.step('unstorable', () => 1n),
  noStep: (_, ctx) => ctx.step('none'),
  dieInStep: (_, ctx) => ctx.step('dies', () => process.exit(7)),
  timeOut: (_, ctx) => ctx.waitFor('go', { timeoutMs: 0 }),
  obey: async (_, { signal }) => {
    try {
      await pause(60_000, undefined, { signal });
    } catch {
      throw signal.reason;
    }
  },
  deaf: () => pause(60_000),
  tell: async (payload, context) => {
    await context.renew();
    await context.progress({ done: 0.5 });
    await context.log('half of it');
    return context.children();
  },
  bigint: () => 1n,
  date: () => ({ at: new Date(0), toJSON: () => ({ at: 'then' }) }),
  none: () => undefined,
  float: (_, context) =>
    void setTimeout(() => context.renew().catch(({ message }) => process.send?.(message)), 20),
};

export default (payload, context) => acts[payload.act](payload, context);
