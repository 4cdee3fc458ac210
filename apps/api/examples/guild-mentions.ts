/**
 * Fake Game: a player types the beginning of a name and picks a completion as the receiver of a message, by requests alone.
 * Recent contacts come first, then the guild's members by score. A player outside the guild learns nothing about its members.
 *
 * Run it with `npm run example:guild`, after `npm run build`, beside a Redis at REDIS_URL.
 */
import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../main.js', import.meta.url));

/** The API as a process of its own. */
const child = spawn(process.execPath, [MAIN], {
  env: { ...process.env, AUTH: 'off', MORTISE_PREFIX: `guild-${randomUUID()}`, PORT: '0' },
  stdio: ['ignore', 'pipe', 'inherit'],
});
process.once('exit', () => child.kill('SIGKILL'));
let address = '';
for await (const line of createInterface({ input: child.stdout })) {
  const { msg, url } = JSON.parse(line) as { msg: string; url: string };
  if (msg !== 'listening') continue;
  address = url;
  break;
}
child.stdout.resume();

/** One request. The API puts problems into words. */
async function ask<T>(method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`${address}/v1/${path}`, {
    method,
    ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error((JSON.parse(text) as { detail: string }).detail);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

interface Mention {
  readonly name: string;
  readonly display: string;
  readonly isRecent: boolean;
  readonly matches: readonly { readonly start: number; readonly end: number }[];
}

/** The list below the line that a player types. */
async function type(by: string, typed: string): Promise<Mention[]> {
  const query = new URLSearchParams({ by, prefix: typed, limit: '4', fuzzy: 'true' }).toString();
  const { items } = await ask<{ items: Mention[] }>('GET', `address-books/dragons/mentions?${query}`);
  const shown = items.map(
    ({ display, matches, isRecent }) => marked(display, matches) + (isRecent ? ' (recent)' : ''),
  );
  console.log(`@${typed}: ${shown.join(', ')}`);
  return items;
}

function marked(display: string, matches: Mention['matches']): string {
  let text = '';
  let shown = 0;
  for (const { start, end } of matches) {
    text += `${display.slice(shown, start)}[${display.slice(start, end)}]`;
    shown = end;
  }
  return text + display.slice(shown);
}

/** A picked player comes first the next time, and ranks higher for all others too. */
async function pick(by: string, { name, display }: Mention): Promise<void> {
  await ask('PUT', `contacts/${by}/${encodeURIComponent(`${name}|${display}`)}`);
  await ask('POST', `address-books/dragons/names/${name}/boost?by=${by}`, { amount: 1 });
}

// Frank founds the guild and brings the others along.
const names = [
  { name: 'frank', display: 'Frank' },
  { name: 'john-1', display: 'John Smith', score: 30 },
  { name: 'joan-2', display: 'Smith, Joan', score: 20 },
  { name: 'jose-3', display: 'José Núñez', score: 10 },
  { name: 'minjun-4', display: '김민준', aliases: ['Minjun Kim'], score: 5 },
];
console.log(await ask('POST', 'address-books/dragons/name-batches?by=frank', { names }));

const [, , jose] = await type('frank', 'jo');
await type('frank', 'sm jo');
await type('frank', 'smtih');
await type('frank', 'nun');
await type('frank', '기');
await type('frank', 'minj');
await pick('frank', jose!);
await type('frank', 'JO');

// Mallory isn't in the guild, and cannot join by themselves.
for (const [method, path, body] of [
  ['GET', 'address-books/dragons/completions?by=mallory&prefix=jo'],
  ['PUT', 'address-books/dragons/names/mallory?by=mallory', {}],
] as const) {
  await ask(method, path, body).catch((error: Error) => console.log(error.message));
}

child.kill('SIGTERM');
await once(child, 'exit');

// Output:
// { added: 5, changed: 0 }
// @jo: [Jo]hn Smith, Smith, [Jo]an, [Jo]sé Núñez
// @sm jo: [Jo]hn [Sm]ith, [Sm]ith, [Jo]an
// @smtih: John [Smith], [Smith], Joan
// @nun: José [Núñ]ez
// @기: [김]민준
// @minj: 김민준
// @JO: [Jo]sé Núñez (recent), [Jo]hn Smith, Smith, [Jo]an
// "mallory" is not in guild "dragons"
// "mallory" is not in guild "dragons"
