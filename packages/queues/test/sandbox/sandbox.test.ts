import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { TaskContext } from '@mortise/queues';
import type { SandboxHandler, SandboxOptions } from '@mortise/queues/sandbox';
import { sandbox } from '@mortise/queues/sandbox';
import { Discard, RetryLater } from '@mortise/queues';
import { gate, until } from '@mortise/test-kit';
import { heldRenewals } from '../fixture/paused-timers.js';
import { newQueue } from '../fixture/new-queue.js';

const HANDLERS = pathToFileURL(join(import.meta.dirname, 'handlers.mjs'));
/** Threads run the sources, as jest does. */
const execArgv = ['--import', pathToFileURL(join(import.meta.dirname, 'typescript.mjs')).href];
const open = new Set<SandboxHandler<unknown>>();

afterEach(async () => {
  await Promise.all([...open].map((handler) => handler.close()));
  open.clear();
});

function make(options: SandboxOptions = {}, module: URL | string = HANDLERS): SandboxHandler<unknown> {
  const handler = sandbox<unknown>(module, { execArgv, threads: 1, ...options });
  open.add(handler);
  return handler;
}

function contextOf(controller = new AbortController(), more: Partial<TaskContext> = {}): TaskContext {
  const fields = { id: 'task 1', queue: 'q', name: 't', attempt: 2, attempts: 5, headers: { a: 'b' } };
  return { ...fields, signal: controller.signal, ...more } as TaskContext;
}

async function thrown(promise: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  const [result] = await Promise.allSettled([promise]);
  return (result as PromiseRejectedResult).reason as Error & Record<string, unknown>;
}

const module = (source: string): URL => new URL(`data:text/javascript,${encodeURIComponent(source)}`);

describe('a sandbox', () => {
  test('calls the default export of a module in another thread', async () => {
    const handler = make();
    const payload = { act: 'echo', list: [1, null, 'é'] };
    expect(await handler(payload, contextOf())).toEqual({
      payload,
      context: { id: 'task 1', queue: 'q', name: 't', attempt: 2, attempts: 5, headers: { a: 'b' } },
      isAborted: false,
      threadId: expect.any(Number),
    });
    expect(await handler({ act: 'thread' }, contextOf())).toBeGreaterThan(0);
  });

  test('takes a path, too, and returns results as JSON would have them', async () => {
    const handler = make({}, join(import.meta.dirname, 'handlers.mjs'));
    expect(await handler({ act: 'date' }, contextOf())).toEqual({ at: 'then' });
    expect(await handler({ act: 'none' }, contextOf())).toBeUndefined();
    const unkept = await handler({ act: 'bigint' }, contextOf());
    expect(() => JSON.stringify(unkept)).toThrow('BigInt');
  });

  test('passes calls of the context on, and their refusals', async () => {
    const calls: unknown[] = [];
    const refused = Object.assign(new Error('gone'), { code: 'ERR_LEASE_LOST' });
    const more = {
      renew: async () => void calls.push('renew'),
      progress: async (value: unknown) => void calls.push(value),
      log: async (line: string) => void calls.push(line),
      children: async () => [{ id: 'child' }] as never,
    };
    const handler = make();
    expect(await handler({ act: 'tell' }, contextOf(undefined, more))).toEqual([{ id: 'child' }]);
    expect(calls).toEqual(['renew', { done: 0.5 }, 'half of it']);
    const lost = { renew: () => Promise.reject(refused) };
    expect(await thrown(handler({ act: 'tell' }, contextOf(undefined, lost)))).toMatchObject({
      message: 'gone',
      code: 'ERR_LEASE_LOST',
    });
  });

  test('errors keep their name, message, stack and code', async () => {
    const handler = make();
    const error = await thrown(handler({ act: 'refuse' }, contextOf()));
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: 'Refusal', message: 'not today', code: 'ERR_REFUSED' });
    expect(error.stack).toMatch(/^Refusal: not today[^]*handlers\.mjs/);
    expect(await thrown(handler({ act: 'text' }, contextOf()))).toMatchObject({ message: 'just a text' });
    expect(await thrown(handler({ act: 'hostile' }, contextOf()))).toMatchObject({
      message: expect.stringContaining('cannot be shown'),
    });
    expect(await handler({ act: 'thread' }, contextOf())).toBeGreaterThan(0);
  });

  test('Discard and RetryLater keep their meaning', async () => {
    const handler = make();
    expect(await thrown(handler({ act: 'discard' }, contextOf()))).toBeInstanceOf(Discard);
    const later = await thrown(handler({ act: 'later' }, contextOf()));
    expect(later).toBeInstanceOf(RetryLater);
    expect(later).toMatchObject({ message: 'busy', delayMs: 60_000 });
  });

  test('runs as many tasks at the same time as it has threads, the others in turn', async () => {
    const handler = make({ threads: 2 });
    const runs = [1, 2, 3, 4, 5].map(() => handler({ act: 'block', ms: 20 }, contextOf()));
    expect(new Set(await Promise.all(runs)).size).toBe(2);
  });

  test('a thread that is idle for long ends', async () => {
    const handler = make({ idleMs: 0 });
    const first = await handler({ act: 'thread' }, contextOf());
    await until('another thread', async () => (await handler({ act: 'thread' }, contextOf())) !== first);
    const lasting = make();
    const threads = [
      await lasting({ act: 'thread' }, contextOf()),
      await lasting({ act: 'thread' }, contextOf()),
    ];
    expect(threads[0]).toBe(threads[1]);
  });

  test('forwards the abort; a thread that obeys is used again', async () => {
    const handler = make();
    const thread = await handler({ act: 'thread' }, contextOf());
    const controller = new AbortController();
    const run = thrown(handler({ act: 'obey' }, contextOf(controller)));
    controller.abort(Object.assign(new Error('stop it'), { code: 'ERR_WORKER_STOPPED' }));
    expect(await run).toMatchObject({ message: 'stop it', code: 'ERR_WORKER_STOPPED' });
    expect(await handler({ act: 'thread' }, contextOf())).toBe(thread);
  });

  test.each([{ act: 'deaf' }, { act: 'block', ms: 60_000 }])(
    'stops a thread that does not obey, wherever it is: %j',
    async (payload) => {
      const handler = make({ killMs: 30 });
      const thread = await handler({ act: 'thread' }, contextOf());
      const controller = new AbortController();
      const run = thrown(handler(payload, contextOf(controller)));
      controller.abort(new Error('stop it'));
      const next = handler({ act: 'thread' }, contextOf());
      expect(await run).toMatchObject({ code: 'ERR_SANDBOX_EXITED' });
      expect(await next).not.toBe(thread);
    },
  );

  test('a task that waits for a thread leaves the line when it is aborted', async () => {
    const handler = make();
    const [busy, waiting] = [new AbortController(), new AbortController()];
    const first = thrown(handler({ act: 'obey' }, contextOf(busy)));
    const second = thrown(handler({ act: 'thread' }, contextOf(waiting)));
    const third = handler({ act: 'thread' }, contextOf());
    waiting.abort(new Error('no longer'));
    expect(await second).toMatchObject({ message: 'no longer' });
    busy.abort(new Error('stop it'));
    expect([(await first).message, typeof (await third)]).toEqual(['stop it', 'number']);
    const early = AbortSignal.abort(new Error('too late'));
    expect(await thrown(handler({ act: 'thread' }, { ...contextOf(), signal: early }))).toMatchObject({
      message: 'too late',
    });
  });

  test.each([
    ['exits', { act: 'exit' }, 7, undefined],
    ['crashes', { act: 'crash' }, 1, 'crashed outside of the handler'],
    ['runs out of memory', { act: 'memory' }, 1, 'memory limit'],
  ])(
    'a thread that %s fails its task, and the next one gets another',
    async (_what, payload, exitCode, cause) => {
      const handler = make({ resourceLimits: { maxOldGenerationSizeMb: 32 } });
      const thread = await handler({ act: 'thread' }, contextOf());
      const error = await thrown(handler(payload, contextOf()));
      expect(error).toMatchObject({ code: 'ERR_SANDBOX_EXITED', queue: 'q', taskId: 'task 1', exitCode });
      expect(error.message).toContain(
        `the sandbox of task "task 1" of queue "q" exited with code ${exitCode}`,
      );
      expect(String(error['cause'])).toContain(cause ?? 'undefined');
      expect(await handler({ act: 'thread' }, contextOf())).not.toBe(thread);
    },
  );

  test('a module that cannot be loaded fails the task with the reason', async () => {
    const missing = make({}, new URL('file:///nowhere/handler.js'));
    expect(await thrown(missing({}, contextOf()))).toMatchObject({ code: 'ERR_MODULE_NOT_FOUND' });
    const none = make({}, module('export const a = 1'));
    expect(await thrown(none({}, contextOf()))).toMatchObject({
      message: expect.stringContaining('must be a function, got undefined'),
    });
    // Loaded anew by the next thread.
    const flaky = make(
      {},
      module('if (Math.random() < 0.5) throw new Error("no luck"); export default () => 1'),
    );
    await until('luck', async () => flaky({}, contextOf()).catch(() => false));
  });

  test('a payload that cannot be cloned fails its task, and the thread goes on', async () => {
    const handler = make();
    const thread = await handler({ act: 'thread' }, contextOf());
    expect(await thrown(handler({ act: () => 1 }, contextOf()))).toMatchObject({ name: 'DataCloneError' });
    expect(await handler({ act: 'thread' }, contextOf())).toBe(thread);
  });

  test('a handler that goes on after its end cannot speak for the next task', async () => {
    const source = `
      let first;
      export default (payload, context) => {
        first ??= context;
        return payload === 'first' ? null : first.renew().catch(({ code }) => code);
      }`;
    const handler = make({}, module(source));
    await handler('first', contextOf());
    const renew = async (): Promise<void> => undefined;
    const refusal = await handler('second', contextOf(undefined, { renew }));
    expect(refusal).toBe('ERR_ATTEMPT_ENDED');
  });

  test('calls that the handler did not await are made before its end, and may fail', async () => {
    const source = `
      export default (payload, context) => {
        context.progress(1);
        context.log(payload);
        return 'done';
      }`;
    const handler = make({}, module(source));
    const made: unknown[] = [];
    const progress = async (value: unknown): Promise<void> => void made.push(value);
    const log = async (): Promise<void> => {
      throw new Error('refused');
    };
    expect(await handler('a', contextOf(undefined, { progress, log }))).toBe('done');
    expect(made).toEqual([1]);
    expect(await handler('b', contextOf(undefined, { progress, log }))).toBe('done');
  });

  test('close ends all threads; a later task starts them anew', async () => {
    const handler = make({ threads: 2 });
    const thread = await handler({ act: 'thread' }, contextOf());
    const running = thrown(handler({ act: 'deaf' }, contextOf()));
    await handler.close();
    expect(await running).toMatchObject({ code: 'ERR_SANDBOX_EXITED' });
    expect(await handler({ act: 'thread' }, contextOf())).not.toBe(thread);
    await handler[Symbol.asyncDispose]();
  });

  test.each([
    ['handler.js', {}, TypeError, 'module must be a URL or an absolute path, got "handler.js"'],
    [7, {}, TypeError, 'module must be a URL'],
    [HANDLERS, { threads: 0 }, RangeError, 'threads must be a whole number from 1 to 1024, got 0'],
    [HANDLERS, { killMs: -1 }, RangeError, 'killMs must be from 0 to 3600000 ms, got -1'],
    [HANDLERS, { idleMs: Number.NaN }, RangeError, 'idleMs must be from'],
  ])('refuses wrong options at construction: %#', (given, options, Misuse, message) => {
    expect(() => sandbox(given as URL, options)).toThrow(message);
    expect(() => sandbox(given as URL, options)).toThrow(Misuse);
  });
});

test('an idle thread does not keep the process, nor does one that was abandoned', async () => {
  const program = join(import.meta.dirname, 'program.mjs');
  const child = fork(program, [], { execArgv: [...execArgv, '--conditions=@mortise/source'], silent: true });
  const printed: string[] = [];
  child.stdout!.on('data', (data: Buffer) => printed.push(data.toString()));
  const [exitCode] = (await once(child, 'exit')) as [number];
  expect([exitCode, printed.join('')]).toEqual([0, 'done\n']);
});

describe('in a worker', () => {
  const renewals = heldRenewals();

  test('leases are renewed while a handler blocks', async () => {
    const { queue, work } = newQueue();
    const handler = make({ threads: 1 });
    const attempts: number[] = [];
    const run = (payload: unknown, context: TaskContext): Promise<unknown> => {
      attempts.push(context.attempt);
      return handler(payload, context);
    };
    const file = join(tmpdir(), `mortise-${randomUUID()}`);
    const { id } = await queue.enqueue('t', { act: 'blockUntil', file });
    await work({ t: run });
    await until('the start', () => attempts.length > 0);
    for (let round = 0; round < 3; round += 1) {
      const { leaseUntil } = (await queue.get(id))!;
      await until('a renewal', async () => {
        renewals.fire();
        return (await queue.get(id))!.leaseUntil! > leaseUntil!;
      });
    }
    writeFileSync(file, 'go on');
    await until('the end', async () => (await queue.get(id))?.state === 'succeeded');
    rmSync(file);
    expect(attempts).toEqual([1]);
    expect(await queue.get(id)).toMatchObject({ attempt: 1, result: expect.any(Number) });
  });

  test('crashes count as attempts; Discard and progress are as everywhere', async () => {
    const { queue, work } = newQueue();
    const backoff = { type: 'fixed', delayMs: 1 } as const;
    await work({ t: { handle: make(), timeoutMs: 60_000 } }, { backoff });
    const exiting = await queue.enqueue('t', { act: 'exit' }, { attempts: 2 });
    const discarded = await queue.enqueue('t', { act: 'discard' });
    const telling = await queue.enqueue('t', { act: 'tell' });
    await until('the end', async () => {
      const { dead, succeeded } = await queue.counts();
      return dead === 2 && succeeded === 1;
    });
    expect(await queue.get(exiting.id)).toMatchObject({
      attempt: 2,
      error: {
        name: 'SandboxExitedError',
        code: 'ERR_SANDBOX_EXITED',
        message: expect.stringMatching(/^the sandbox of task .* exited with code 7/),
      },
    });
    expect(await queue.get(discarded.id)).toMatchObject({
      attempt: 1,
      error: { message: expect.stringContaining('hopeless') },
    });
    expect(await queue.get(telling.id)).toMatchObject({ progress: { done: 0.5 }, result: [] });
  });

  test('a task that takes too long is stopped where it is', async () => {
    const { queue, work } = newQueue();
    const handler = make({ killMs: 10 });
    const ended = gate();
    const handle = (payload: unknown, context: TaskContext): Promise<unknown> =>
      handler(payload, context).finally(() => ended.open());
    await work({ t: { handle, timeoutMs: 50 } });
    const { id } = await queue.enqueue('t', { act: 'block', ms: 60_000 }, { attempts: 1 });
    await until('the end', async () => (await queue.get(id))?.state === 'dead');
    await ended.passed;
    expect(await queue.get(id)).toMatchObject({
      error: { message: expect.stringContaining('took longer than') },
    });
  });
});

describe('steps in a sandbox', () => {
  test('run once in the thread; it sleeps, waits and has a cursor', async () => {
    const { queue, work } = newQueue();
    await work({ t: make() });
    const backoff = { type: 'fixed', delayMs: 0, jitter: 0 } as const;
    const { id } = await queue.enqueue('t', { act: 'steps', isAgain: true }, { backoff });
    await queue.deliver(id, 'go', { by: 'ann' });
    expect(await queue.result(id)).toEqual({
      first: { threadId: expect.any(Number), at: '1970-01-01T00:00:00.000Z' },
      caught: [true, 'not today'],
      cursor: 7,
      event: { by: 'ann' },
    });
    const { steps, attempt } = (await queue.get(id))!;
    expect(attempt).toBe(2);
    expect(steps!.map(({ name }) => name)).toEqual(['first', 'nothing', 'sleep 1', 'wait 1 go']);
  });

  test.each([
    ['unstorable', 'TypeError', undefined],
    ['noStep', 'TypeError', 'ERR_INVALID_ARG'],
    ['dieInStep', 'SandboxExitedError', 'ERR_SANDBOX_EXITED'],
    ['timeOut', 'EventTimeoutError', 'ERR_EVENT_TIMEOUT'],
  ])('%s fails the attempt with a %s', async (act, name, code) => {
    const { queue, work } = newQueue();
    await work({ t: make() });
    const { id } = await queue.enqueue('t', { act }, { attempts: act === 'timeOut' ? 5 : 1 });
    await expect(queue.result(id)).rejects.toMatchObject({ code: 'ERR_TASK_DEAD' });
    const { error, attempt } = (await queue.get(id))!;
    expect([error?.name, error?.code, attempt]).toEqual([name, code, 1]);
  });
});
