/** Lua that several scripts share stands in a file of its own; other Lua stands in its script. */
import { basename } from 'node:path';
import { expect, test } from '@jest/globals';
import { files, read } from '../src/repository.js';

const lua = files('packages/*/src/**/*.lua', 'apps/*/src/**/*.lua');

/** How many scripts and parts include each file. */
const users = new Map(lua.map((file) => [basename(file), 0]));
for (const file of lua) {
  for (const [, name] of read(file).matchAll(/^-- include (\S+)$/gm)) users.set(name!, users.get(name!)! + 1);
}

test.each([
  ['part', 'two scripts or more', (count: number) => count >= 2],
  ['section', 'one script', (count: number) => count === 1],
])('each .%s.lua is included by %s', (kind, _, isRight) => {
  const wrong = [...users].filter(([name, count]) => name.endsWith(`.${kind}.lua`) && !isRight(count));
  expect(wrong).toEqual([]);
});

test('no line that includes a file is indented: it would be a comment', () => {
  expect(lua.filter((file) => /^[ \t]+-- include \S+\.lua$/m.test(read(file)))).toEqual([]);
});

test('lint waits for the scripts of all packages that have some', () => {
  const { tasks } = JSON.parse(read('turbo.json')) as {
    readonly tasks: Readonly<Record<string, { readonly dependsOn: readonly string[] }>>;
  };
  const workspaces = new Set(lua.map((file) => file.split('/').slice(0, 2).join('/')));
  const names = [...workspaces].map((folder) => `@mortise/${basename(folder)}#scripts`);
  expect(tasks['//#lint']!.dependsOn).toEqual(names.toSorted());
});
