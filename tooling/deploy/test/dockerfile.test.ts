import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { contextFiles } from '../src/context.js';
import { lastStep, stagesOf, variablesOf, wordsOf } from '../src/dockerfile.js';
import { APPS, read } from '../src/repository.js';

interface Manifest {
  readonly packageManager: string;
  readonly engines: { readonly node: string };
  readonly scripts: Readonly<Record<string, string>>;
}
const manifestOf = (file: string): Manifest => JSON.parse(read(file)) as Manifest;
const context = contextFiles();

describe.each(APPS)('the Dockerfile of the %s', (app) => {
  const stages = stagesOf(app);
  const image = stages.at(-1)!;
  const steps = stages.flatMap((stage) => stage.steps);
  const commands = steps.filter(({ keyword }) => keyword === 'RUN').map(({ text }) => text);

  test('is built and run with one version of Node that the project supports', () => {
    const bases = new Set(stages.map(({ from }) => from).filter((from) => from.includes(':')));
    expect([...bases]).toEqual([expect.stringMatching(/^node:\d+-bookworm-slim$/)]);
    const major = Number(/\d+/.exec([...bases][0]!)![0]);
    expect(major).toBeGreaterThanOrEqual(Number(/\d+/.exec(manifestOf('package.json').engines.node)![0]));
    expect(major % 2).toBe(0);
  });

  test('installs pnpm and turbo at the versions of the project', () => {
    const { catalog } = parse(read('pnpm-workspace.yaml')) as { readonly catalog: Record<string, string> };
    const { packageManager } = manifestOf('package.json');
    expect(commands[0]).toBe(`npm install --global ${packageManager} turbo@${catalog['turbo']}`);
  });

  test('prunes to the app and the tools that builds run by path', () => {
    const scripts = context
      .filter((file) => /^(apps|packages)\/[^/]+\/package\.json$/.test(file))
      .flatMap((file) => Object.entries(manifestOf(file).scripts))
      .filter(([name]) => name === 'build' || name === 'scripts');
    const tools = new Set(
      scripts.flatMap(([, script]) => Array.from(script.matchAll(/tooling\/([\w-]+)/g), ([, name]) => name!)),
    );
    const pruned = commands
      .find((command) => command.startsWith('turbo prune'))!
      .split(' ')
      .slice(2);
    // The API serves the page of the console, which it finds as files.
    const pages = app === 'api' ? ['console-page'] : [];
    expect(new Set(pruned)).toEqual(
      new Set([...[app, ...pages, ...tools].map((name) => `@mortise/${name}`), '--docker']),
    );
  });

  test('installs what the lockfile says, before the sources come, and runs no install script', () => {
    const build = stages
      .find(({ name }) => name === 'build')!
      .steps.map(({ keyword, text }) => `${keyword} ${text}`);
    expect(build.slice(0, 3)).toEqual([
      'COPY /app/out/json/ ./',
      'RUN pnpm install --frozen-lockfile --ignore-scripts',
      'COPY /app/out/full/ ./',
    ]);
  });

  test('has only production files in its image', () => {
    const copies = image.steps.filter(({ keyword }) => keyword === 'COPY');
    expect(copies).toEqual([{ keyword: 'COPY', flags: { from: 'build' }, text: '/app/production/ ./' }]);
    expect(image.steps.some(({ keyword }) => keyword === 'RUN')).toBe(false);
  });

  test('runs node as a user without rights, and as the process that gets the signals', () => {
    expect(lastStep(image, 'USER')?.text).toBe('node');
    expect(lastStep(image, 'STOPSIGNAL')?.text).toBe('SIGTERM');
    expect(wordsOf(lastStep(image, 'CMD')!)).toEqual(['node', 'dist/main.js']);
    expect(wordsOf(lastStep(image, 'HEALTHCHECK')!)[0]).toBe('node');
    expect(lastStep(image, 'ENTRYPOINT')).toBeUndefined();
  });

  test('names the ports that it exposes', () => {
    const variables = variablesOf(lastStep(image, 'ENV')!);
    const [, name = ''] = /process\.env\.(\w+)/.exec(lastStep(image, 'HEALTHCHECK')!.text)!;
    const { METRICS_PORT } = variables;
    const ports = [variables[name], ...(METRICS_PORT === undefined ? [] : [METRICS_PORT])];
    expect(lastStep(image, 'EXPOSE')?.text).toBe(ports.join(' '));
  });

  test('runs nothing by absolute path, so that it can be replayed', () => {
    expect(commands.filter((command) => /(^|[\s=])\//.test(command))).toEqual([]);
  });
});

test('the context of the images has the sources, nothing built and nothing secret', () => {
  const inContext = (pattern: RegExp): string[] => context.filter((file) => pattern.test(file));
  expect(inContext(/(^|\/)(\.|node_modules\/|dist\/|test\/)|\.gen\.ts$|\.log$/)).toEqual([]);
  expect(context).toEqual(
    expect.arrayContaining(['pnpm-lock.yaml', 'apps/api/src/main.ts', 'tooling/lua/generate.mjs']),
  );
  expect(inContext(/^[^/]+$/).toSorted()).toEqual([
    'package.json',
    'pnpm-lock.yaml',
    'pnpm-workspace.yaml',
    'turbo.json',
  ]);
});
