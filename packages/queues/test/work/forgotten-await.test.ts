import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { freshPrefix } from '@mortise/test-kit';

const REDIS = process.env['MORTISE_TEST_REDIS']!;
const run = promisify(execFile);

/** Runs a program that has `queue`, `start(handlers)` and `redis`, and ends only if nothing rejects unhandled. */
async function output(body: string): Promise<unknown> {
  const program = `
    import { setImmediate as turn } from 'node:timers/promises';
    import { Queue, Worker } from '@mortise/queues';
    import { Redis } from 'ioredis';
    const redis = new Redis('${REDIS}');
    const prefix = '${freshPrefix()}';
    const queue = new Queue(redis, 'q', { prefix });
    const start = (handlers) => {
      const worker = new Worker(redis, ['q'], handlers, { prefix });
      void worker.start();
      return worker;
    };
    ${body}
    await redis.quit();`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], {
    cwd: join(import.meta.dirname, '../..'),
  });
  return JSON.parse(stdout);
}

test('log, progress and renew without await are stored before the task completes', async () => {
  const seen = await output(`
    const worker = start({
      t: (_, ctx) => {
        ctx.log('one');
        ctx.progress(0.5);
        ctx.renew();
        ctx.log('two');
        return 'done';
      },
      fails: (_, ctx) => {
        ctx.log('before the error');
        throw new Error('no');
      },
    });
    const { id } = await queue.enqueue('t', 1);
    const result = await queue.result(id, { waitMs: 20_000 });
    const { id: dead } = await queue.enqueue('fails', 1, { attempts: 1 });
    await queue.result(dead, { waitMs: 20_000 }).catch(() => undefined);
    const { progress, logs } = await queue.get(id);
    await worker.stop();
    const more = (await queue.get(dead)).logs;
    console.log(JSON.stringify({ result, progress, logs: logs.map(({ text }) => text), more: more.map(({ text }) => text) }));`);
  expect(seen).toEqual({
    result: 'done',
    progress: 0.5,
    logs: ['one', 'two'],
    more: ['before the error'],
  });
});

test('calls after the end harm nobody who does not await them', async () => {
  const seen = await output(`
    let late;
    const worker = start({ t: (_, ctx) => void (late = ctx) });
    const { id } = await queue.enqueue('t', 1);
    await queue.result(id, { waitMs: 20_000 });
    late.log('late');
    late.progress(1);
    late.progress(1n);
    late.renew();
    await redis.ping();
    await turn();
    const codes = await Promise.all(['log', 'progress', 'renew'].map((name) => late[name]('x').catch(({ code }) => code)));
    const { logs = [] } = await queue.get(id);
    await worker.stop();
    console.log(JSON.stringify({ codes, logs }));`);
  expect(seen).toEqual({
    codes: ['ERR_ATTEMPT_ENDED', 'ERR_ATTEMPT_ENDED', 'ERR_ATTEMPT_ENDED'],
    logs: [],
  });
});
