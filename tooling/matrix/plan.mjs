/** The rows and columns of the matrix. A cell is a row and a column; it has passed when all its runs have. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../start/pnpm.mjs';

export const PACKAGES = ['redis', 'locks', 'queues', 'messaging', 'autocomplete', 'cache', 'console'];

/** Where Debian has them. */
export const SERVERS = [
  { name: 'Redis 7.0', kind: 'redis', suites: ['bookworm'] },
  { name: 'Redis 8.0', kind: 'redis', suites: ['trixie'] },
  { name: 'Valkey 8.0', kind: 'valkey', suites: ['bookworm', 'bookworm-backports'] },
  { name: 'Valkey 8.1', kind: 'valkey', suites: ['trixie'] },
];

/** The ways to run a server; `topologies.mjs` has them. */
export const TOPOLOGIES = ['single', 'Sentinel', 'Cluster', 'managed', 'TLS', 'declared keys'];

const arch =
  { x64: { bun: 'x64', deno: 'x64' }, arm64: { bun: 'aarch64', deno: 'arm64' } }[process.arch] ?? {};
const deno = `@deno/${process.platform}-${arch.deno}${process.platform === 'linux' ? '-glibc' : ''}`;
const node = `node-${process.platform}-${process.arch}`;

/** npm packages that have the program in them, without an install script; `args` come before the program that it runs. */
export const RUNTIMES = [
  { name: 'Node 20', package: `${node}@20`, bin: 'bin/node', args: [] },
  { name: 'Node 22', package: `${node}@22`, bin: 'bin/node', args: [] },
  { name: 'Node 24', package: `${node}@24`, bin: 'bin/node', args: [] },
  { name: 'Bun', package: `@oven/bun-${process.platform}-${arch.bun}@1.4.5`, bin: 'bin/bun', args: ['run'] },
  {
    name: 'Deno',
    package: `${deno}@2.9.6`,
    bin: 'deno',
    args: ['run', '--allow-all', '--no-lock', '--quiet'],
  },
];

/** The runtime of all runs that compare servers. */
export const BASE_RUNTIME = 'Node 20';
/** The server of all runs that compare runtimes. */
export const BASE_SERVER = 'Redis 8.0';

const catalog = readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8');
export const pinned = (name) => new RegExp(`^  '?${name}'?: (?:npm:.*@)?(\\S+)$`, 'm').exec(catalog)[1];

/** Projects into which the packed packages are installed. ioredis 5.4.0 is the oldest that we take. */
export const PROJECTS = [
  { name: 'ioredis 5.4', ioredis: '5.4.0', nestjs: pinned('@nestjs/common') },
  { name: 'ioredis 5.11', ioredis: pinned('ioredis5'), nestjs: '11' },
  { name: 'ioredis 6', ioredis: pinned('ioredis'), nestjs: pinned('@nestjs/common') },
  { name: 'node-redis 5', nodeRedis: pinned('@redis/client'), nestjs: pinned('@nestjs/common') },
  { name: 'node-redis 6', nodeRedis: pinned('node-redis6'), nestjs: pinned('@nestjs/common') },
];

/** The columns of the table of runtimes: which programs run in which project. */
export const CLIENTS = [
  ...PROJECTS.map(({ name }) => ({ name, project: name, programs: PACKAGES })),
  { name: 'NestJS 11', project: 'ioredis 5.11', programs: ['nestjs'] },
  { name: 'NestJS 12', project: 'ioredis 6', programs: ['nestjs'] },
];

/** Projects whose programs run in each cell of the table of servers. */
export const SERVER_PROJECTS = ['ioredis 5.11', 'ioredis 6'];

/** Headings that say more than the name of their column. */
export const HEADINGS = { 'declared keys': 'declared keys, except `AddressBook`' };

/** The meaning of a column in lines of the page, and the exceptions, which the smoke programs assert as well. */
export const LIMITS = {
  managed: [
    'a single node and a Cluster, with an ACL user without INFO, CONFIG, CLIENT, DEBUG and the other commands that administer a server.',
    'The user has only its own keys and channels. Without CLIENT, the near tier reads all from Redis, and `onError` receives the reason.',
  ],
  'declared keys': [
    'a server that refuses undeclared keys of scripts, as Dragonfly does. [`AddressBook`](../decisions/0013-an-address-book-finds-its-blocks-itself.md) needs them.',
  ],
};

/** Cells that don't work, and why: `{ 'Bun · NestJS 12': 'reason' }`. One that passes all the same fails the run. */
export const UNSUPPORTED = {};

export const cellName = (row, column) => `${row} · ${column}`;
