/**
 * `npm run test:matrix -- [--only text …] [--full]`: the packed packages on each server, in each topology, on each runtime and with each
 * version of the clients. A whole run writes `results.json` and the table of docs/operations/support.md; `--only` runs the cells whose names
 * contain one of the texts, and writes nothing. `--full` also runs the jest suites of the packages on each server.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { requireNode, root, step } from '../start/pnpm.mjs';
import { ordersOf } from './orders.mjs';
import { RUNTIMES, SERVERS } from './plan.mjs';
import { Results } from './results.mjs';

const cache = join(root, '.cache/matrix');
const serverCells = fileURLToPath(new URL('server-cells.mjs', import.meta.url));

requireNode();
const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true }, full: { type: 'boolean', default: false } },
});
step('install dependencies', ['install', '--frozen-lockfile', '--reporter=silent']);
const built = ['--filter=./packages/*', '--filter=@mortise/redis-server'];
step('build', ['exec', 'turbo', 'run', 'build', ...built, '--output-logs=errors-only']);
const { debianServer } = await import('@mortise/redis-server');
const { installRuntimes, makeProjects } = await import('./projects.mjs');

console.log('\n▸ install the packed packages and the runtimes');
const runtimes = await installRuntimes(cache, RUNTIMES);
const installed = { projects: await makeProjects(cache), runtimes };
const results = new Results();
for (const [name, { version }] of runtimes) if (version !== undefined) results.versions[name] = version;
const today = new Date().toISOString().slice(0, 10);

for (const server of SERVERS) await runServer(server);
if (values.full) await runSuitesOnAll();
if (values.only === undefined) results.write(today);
process.exitCode = results.report();

async function runServer(server) {
  const orders = ordersOf(server, installed, values.only);
  if (orders.length === 0) return;
  console.log(`\n▸ ${server.name}`);
  const cells = orders.flatMap((order) => order.cells);
  for (const { cell, runs } of cells) {
    const missing = runs.find(({ problem }) => problem !== undefined);
    if (missing !== undefined) results.record(cell, 'not run', [missing.problem]);
  }
  const topologies = orders
    .map(({ name, cells: all }) => ({ name, cells: all.filter(({ cell }) => !results.has(cell)) }))
    .filter((order) => order.cells.length > 0);
  let reason = 'the process of the server ended early';
  try {
    await runTopologies(server, topologies);
  } catch (error) {
    reason = error.message;
  }
  for (const { cell } of cells) results.record(cell, 'not run', [reason]);
}

/** In a process of its own: which server `@mortise/redis-server` starts is fixed for the life of a process. */
async function runTopologies(server, topologies) {
  const child = fork(serverCells, { env: { ...process.env, REDIS_SERVER_BIN: await binOf(server) } });
  child.on('message', ({ cell, state, problems, seconds, version }) => {
    if (version !== undefined) results.versions[server.name] = version;
    else results.record(cell, state, problems, seconds);
  });
  child.send({ topologies });
  await once(child, 'exit');
}

function binOf(server) {
  const cacheDirectory = join(cache, 'servers', server.name.toLowerCase().replace(' ', '-'));
  return debianServer({ ...server, cacheDirectory, onProgress: (text) => console.log(`  ${text}`) });
}

async function runSuitesOnAll() {
  const { runSuites } = await import('./suites.mjs');
  results.suites = {};
  for (const server of SERVERS.filter(({ name }) => results.versions[name] !== undefined)) {
    console.log(`\n▸ the test suites on ${server.name}`);
    const found = runSuites(await binOf(server));
    results.suites[server.name] = { version: results.versions[server.name], ...found, date: today };
  }
}
