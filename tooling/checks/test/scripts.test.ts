/** Lua that several scripts share stands in a file of its own; other Lua stands in its script. */
import { basename } from 'node:path';
import { expect, test } from '@jest/globals';
import { files, read } from '../src/repository.js';

const scripts = files('packages/*/src/**/*.lua', 'apps/*/src/**/*.lua');
const lua = [...scripts, ...files('tooling/lua/*.lua')];

/** How many scripts and parts include each file. */
const users = new Map(lua.map((file) => [basename(file), 0]));
for (const file of lua) {
  for (const [, name] of read(file).matchAll(/^[ \t]*-- include (\S+)$/gm))
    users.set(name!, users.get(name!)! + 1);
}

test.each([
  ['part', 'two scripts or more', (count: number) => count >= 2],
  ['section', 'one script', (count: number) => count === 1],
])('each .%s.lua is included by %s', (kind, _, isRight) => {
  const wrong = [...users].filter(([name, count]) => name.endsWith(`.${kind}.lua`) && !isRight(count));
  expect(wrong).toEqual([]);
});

test('every line that names a file to include is one that includes it', () => {
  const lines = lua.flatMap((file) => read(file).match(/^.*-- *include\b.*\.lua.*$/gm) ?? []);
  expect(lines.length).toBeGreaterThan(200);
  expect(lines.filter((line) => !/^[ \t]*-- include [a-z][\w.-]*\.(part|section)\.lua$/.test(line))).toEqual(
    [],
  );
});

test('scripts read the time of the server in one place, which the simulation and tests may replace', () => {
  const reading = lua.filter((file) => /call\(\s*['"]TIME['"]/i.test(read(file)));
  expect(reading).toEqual(['tooling/lua/server.time.part.lua']);
});

test('lint waits for the published types that it reads, and for the scripts of the apps', () => {
  const { tasks } = JSON.parse(read('turbo.json')) as {
    readonly tasks: Readonly<Record<string, { readonly dependsOn: readonly string[] }>>;
  };
  const workspaces = new Set(scripts.map((file) => file.split('/').slice(0, 2).join('/')));
  const apps = [...workspaces].filter((folder) => folder.startsWith('apps/'));
  const names = [
    ...apps.map((folder) => `@mortise/${basename(folder)}#scripts`),
    // A build makes its scripts first.
    ...files('packages/*/package.json').map((file) => `@mortise/${file.split('/')[1]}#build`),
  ];
  expect(tasks['//#lint']!.dependsOn).toEqual(names.toSorted());
});
