import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@mortise/server-process';

const PROGRAM = fileURLToPath(new URL('../../start/redis.mjs', import.meta.url));

describe('npm run redis', () => {
  const children: ChildProcessByStdio<null, Readable, Readable>[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  const run = (...args: string[]): ChildProcessByStdio<null, Readable, Readable> => {
    const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    children.push(child);
    return child;
  };

  it.each([
    ['up', 'SIGINT', /^server +redis:\/\/127\.0\.0\.1:\d+\n\nnew Redis\('redis:\/\/127\.0\.0\.1:\d+'\)\n/],
    [
      'cluster',
      'SIGTERM',
      /^(master .*\n){3}(replica .*\n){3}\nnew Cluster\(\[(\{ host: '127\.0\.0\.1', port: \d+ \}(, )?){6}\]\)\n/,
    ],
    [
      'sentinel',
      'SIGINT',
      /^master .*\n(replica .*\n){2}(sentinel .*\n){3}\nnew Redis\(\{ name: 'mortise', sentinels: \[.*\] \}\)\n/,
    ],
  ] as const)(
    '%s prints addresses and a constructor, and ends cleanly on %s',
    async (command, signal, expected) => {
      const child = run(command);
      let printed = '';
      child.stdout.on('data', (bytes) => {
        printed += String(bytes);
      });
      const exit = once(child, 'exit');
      await until(() => printed.includes('until Ctrl-C'), {
        what: `${command} to be up`,
        deadlineMs: 15_000,
      });

      child.kill(signal);

      expect(await exit).toEqual([0, null]);
      expect(printed).toMatch(expected);
    },
  );

  it('ends with an error when its server has died', async () => {
    const child = run('up');
    let printed = '';
    child.stdout.on('data', (bytes) => {
      printed += String(bytes);
    });
    const errors = text(child.stderr);
    const exit = once(child, 'exit');
    await until(() => printed.includes('until Ctrl-C'), { what: 'up', deadlineMs: 15_000 });
    const [, url = '', port = ''] = /(redis:\/\/127\.0\.0\.1:(\d+))/.exec(printed) ?? [];
    connect(Number(port), '127.0.0.1').end('SHUTDOWN NOSAVE\r\n');

    expect(await exit).toEqual([1, null]);
    expect(await errors).toContain(`${url} has ended`);
  });

  it.each([[[]], [['down']], [['up', 'now']]])('answers %j with its usage', async (args) => {
    const child = run(...args);

    const [errors, exit] = await Promise.all([text(child.stderr), once(child, 'exit')]);

    expect(exit).toEqual([2, null]);
    expect(errors).toMatch(/^usage: npm run redis -- <what>/);
  });
});
