/** Lua that several scripts share stands in a file of its own; other Lua stands in its script. */
import { basename } from 'node:path';
import { expect, test } from '@jest/globals';
import { files, read } from '../src/repository.js';

const lua = files('packages/*/src/**/*.lua', 'apps/*/src/**/*.lua');

/** Held back until they are clean. */
const LATER = /fetcher\.(fetch|idle|optional)|book\.(tops|edits)/;

test('each file to include is included by two scripts or more', () => {
  const users = new Map(lua.filter((file) => file.endsWith('.part.lua')).map((file) => [basename(file), 0]));
  for (const file of lua) {
    for (const [, name] of read(file).matchAll(/^-- include (\S+)$/gm)) {
      users.set(name!, (users.get(name!) ?? 0) + 1);
    }
  }
  const once = [...users].filter(([name, count]) => count < 2 && !LATER.test(name));
  expect(once).toEqual([]);
});

test('lint waits for the scripts of all packages that have some', () => {
  const { tasks } = JSON.parse(read('turbo.json')) as {
    readonly tasks: Readonly<Record<string, { readonly dependsOn: readonly string[] }>>;
  };
  const workspaces = new Set(lua.map((file) => file.split('/').slice(0, 2).join('/')));
  const names = [...workspaces].map((folder) => `@mortise/${basename(folder)}#scripts`);
  expect(tasks['//#lint']!.dependsOn).toEqual(names.toSorted());
});
