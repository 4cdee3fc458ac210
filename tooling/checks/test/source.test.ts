import { describe, expect, test } from '@jest/globals';
import { files, PACKAGES, read } from '../src/repository.js';

// With a class of one letter each, so that a search for these words finds nothing at all.
const UNFINISHED = /\b(TO[D]O|FIX[M]E|XX[X])\b/;
const SKIPPED = /\.(skip|only|todo)\(|\b(xit|xdescribe|xtest)\(/;
const MOCKED = /ioredis-mock|mock(Module)?\(\s*'ioredis'/;

/** This file says what it looks for, so it is left out. */
const code = files('*.ts', '*.mjs', '*.cjs', '*.lua', '.ci/run').filter(
  (file) => !file.endsWith('.gen.ts') && !file.endsWith('checks/test/source.test.ts'),
);

function offenders(pattern: RegExp, among: readonly string[]): string[] {
  return among.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
  );
}

test('nothing is left unfinished', () => {
  expect(offenders(UNFINISHED, code)).toEqual([]);
});

test('no test is skipped or run alone, and Redis is not mocked', () => {
  expect(offenders(SKIPPED, code)).toEqual([]);
  expect(offenders(MOCKED, [...code, ...files('**/package.json')])).toEqual([]);
});

test('tests wait for events and conditions, not for a time', () => {
  const sleeping = /\bawait (sleep|delay|setTimeout)\(/;
  expect(offenders(sleeping, files('*.test.ts'))).toEqual([]);
});

test('packages send commands by scripts or callRedis, whose errors have codes', () => {
  const raw = /\bredis\.call(Buffer)?\(/;
  const sources = code.filter((file) => /^packages\/(?!redis\/)\w+\/src\/.*\.ts$/.test(file));
  expect(sources.length).toBeGreaterThan(100);
  expect(offenders(raw, sources)).toEqual([]);
});

test('packages reach time and chance by names that the simulation replaces', () => {
  // See tooling/simulate/src/world/door.ts.
  const other =
    /\bhrtime\b|\bprocess\.uptime\b|perf_hooks|\bscheduler\.(?:wait|yield)\b|\bAtomics\.wait|import \* as \w+ from 'node:(?:crypto|timers)/;
  const sources = code.filter((file) =>
    /^packages\/(?:redis|locks|queues|messaging|autocomplete|cache)\/src\/.*\.ts$/.test(file),
  );
  // These two replace time themselves, or run outside of the process.
  const own = sources.filter((file) => !/\/testing\/|\/sandbox\//.test(file));
  expect(own.length).toBeGreaterThan(100);
  expect(offenders(other, own)).toEqual([]);
});

test('options may be undefined, as users of exactOptionalPropertyTypes need it', () => {
  const sources = code.filter((file) => /^packages\/\w+\/src\/.*\.ts$/.test(file));
  const options = sources.flatMap((file) =>
    [
      ...read(file).matchAll(/^export interface (\w+(?:Options|Feature|Limits|Rule))\b[^{;]*\{\n(.*?)^\}/gms),
    ].map(([, name, body]) => ({
      place: `${file}: ${name}`,
      optional: body!.match(/^ *(?:readonly )?\w+\?: [^\n{]*;$/gm),
    })),
  );
  expect(options.length).toBeGreaterThan(60);
  const exact = options.flatMap(({ place, optional }) =>
    (optional ?? []).filter((line) => !/\b(?:undefined|unknown)\b/.test(line)).map((line) => place + line),
  );
  expect(exact).toEqual([]);
});

test('no file has grown into two', () => {
  const long = code.filter((file) => !file.includes('/test/') && read(file).split('\n').length > 400);
  expect(long).toEqual([]);
});

describe('tests lie in folders of the names of the sources', () => {
  /** The folders right below `root`, but for `otel`: one line, which the test of telemetry covers. */
  function folders(root: string, pattern: string): string[] {
    const paths = files(`${root}/*/${pattern}`).map((file) => file.slice(root.length + 1).split('/')[0]!);
    return [...new Set(paths)].filter((folder) => folder !== 'otel').toSorted();
  }

  test.each(PACKAGES)('packages/%s', (name) => {
    expect(folders(`packages/${name}/test`, '*.test.ts')).toEqual(folders(`packages/${name}/src`, '*.ts'));
  });
});

test('the documents and the code name no machine', () => {
  const machine = /(^|[^\w.])\/(home|root|Users)\/\w/;
  expect(offenders(machine, [...code, ...files('*.md', '*.json', '*.yaml')])).toEqual([]);
});

function imports(file: string): string[] {
  return [...read(file).matchAll(/from '([^']+)'/g)].map(([, target]) => target!);
}

const BASE = [
  '@mortise/redis',
  '@mortise/redis/codecs',
  '@mortise/redis/nestjs',
  '@mortise/redis/node-redis',
  '@mortise/redis/otel',
  '@mortise/redis/testing',
];

describe('imports go one way', () => {
  test.each(PACKAGES)('packages/%s', (name) => {
    // The console shows queues; it is no feature of its own.
    const queues = ['@mortise/queues', '@mortise/queues/admin'];
    const allowed = name === 'redis' ? [] : name === 'console' ? [...BASE, ...queues] : BASE;
    const foreign = files(`packages/${name}/src/*.ts`, `packages/${name}/src/**/*.ts`)
      .flatMap((file) => imports(file).map((target) => ({ file, target })))
      .filter(({ target }) => target.startsWith('@mortise/') && !allowed.includes(target));
    expect(foreign).toEqual([]);
  });

  test('NestJS stays in the apps and in src/nestjs', () => {
    const knowing = files('packages/*/src/**/*.ts', 'packages/*/src/*.ts')
      .filter((file) => !file.includes('/src/nestjs/'))
      .filter((file) => imports(file).some((target) => target.startsWith('@nestjs/')));
    expect(knowing).toEqual([]);
  });

  test('packages need ioredis only for its types, but for programs and where a URL or options are given', () => {
    const running = files('packages/*/src/**/*.ts', 'packages/*/src/*.ts').filter((file) =>
      /^import (?!type)[^;]*from 'ioredis'|import\('ioredis'\)/m.test(read(file)),
    );
    expect(
      running.filter(
        (file) => !/\/src\/(?:(?:cli|nestjs)\/|bullmq\/connection\.ts$|owned-client\.ts$)/.test(file),
      ),
    ).toEqual([]);
  });
});
