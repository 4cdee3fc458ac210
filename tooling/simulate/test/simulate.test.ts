import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const NAMES = ['locks', 'queues', 'messaging', 'files', 'autocomplete', 'cache', 'market'];
const LIMIT_MS = 600_000;

/** In a process of its own, because jest gives modules another world of globals. */
function simulate(...args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...args], { maxBuffer: 2 ** 26 }, (error, output) => {
      resolve({ code: Number(error?.code ?? 0), output });
    });
  });
}

test(
  'some seeds of each package break no rule',
  async () => {
    const { code, output } = await simulate('--seeds', '20');
    for (const name of NAMES)
      expect(output).toMatch(new RegExp(`^${name}: 20 seeds from 1, no rule broken`, 'm'));
    expect(code).toBe(0);
  },
  LIMIT_MS,
);

test(
  'a real Redis on the clock of the scheduler gives the same histories as the engine in memory',
  async () => {
    const { code, output } = await simulate('--engine', 'both', '--seeds', '4');
    for (const name of NAMES)
      expect(output).toMatch(new RegExp(`^${name}: 4 seeds from 1, the same histories`, 'm'));
    expect(code).toBe(0);
  },
  LIMIT_MS,
);

test(
  'plans that found a defect break no rule any more',
  async () => {
    const { code, output } = await simulate('--replay');
    expect(output).toMatch(/^(\d+) of \1 recorded plans break no rule$/m);
    expect(code).toBe(0);
  },
  LIMIT_MS,
);

test(
  'a seed gives the same history in each process, and another seed another one',
  async () => {
    const [one, again, other] = await Promise.all(
      ['7', '7', '8'].map((seed) => simulate('--package', 'queues', '--seed', seed)),
    );
    const history = /^history (\w{64})$/m;
    expect(one!.output).toMatch(history);
    expect(history.exec(again!.output)?.[1]).toBe(history.exec(one!.output)?.[1]);
    expect(history.exec(other!.output)?.[1]).not.toBe(history.exec(one!.output)?.[1]);
  },
  LIMIT_MS,
);

test(
  'a planted defect is found, replayed and shrunk',
  async () => {
    const { code, output } = await simulate(
      '--mutation',
      'a release of a Mutex ignores the holder',
      '--seeds',
      '50',
    );
    expect(code).toBe(1);
    expect(output).toMatch(/^ {2}100 of 100 replays had the same history/m);
    expect(output).toMatch(/^✗ (validity|linearizability|lost update|fencing): /m);
    const shrunk = JSON.parse(/^\{.*\}$/m.exec(output)![0]) as {
      plan: { operations: unknown[]; faults: unknown[] };
    };
    expect(shrunk.plan.operations.length).toBeLessThan(5);
    expect(shrunk.plan.faults.length).toBeLessThan(3);
  },
  LIMIT_MS,
);

test(
  'a name that no package and no defect has is refused',
  async () => {
    expect((await simulate('--package', 'lock')).code).toBe(1);
    expect((await simulate('--mutation', 'nothing')).code).toBe(1);
  },
  LIMIT_MS,
);
