/**
 * `npm run test:protected -- [cluster] [sentinel] [package …]`: suites of packages as the user of docs/operations/redis.md, on a Cluster with
 * TLS and passwords, and on a master with replicas under Sentinel, with passwords. The commands of tests that this user may not send go
 * over administrative connections (`tooling/test-kit/src/protected`). `tooling/test-kit/protected-*.json` lists the tests that can't hold there.
 */
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { root } from './pnpm.mjs';
import { environmentOf, START } from './protected-servers.mjs';
import { buildPackages, runSuites } from './run-with-client.mjs';

/** Run without arguments. Many tests of the others expect one node, and the rights of an administrator. */
const READY = ['locks'];
const PACKAGES = ['locks', 'cache', 'autocomplete', 'messaging', 'queues', 'redis'];

const asked = process.argv.slice(2);
/** The names among the arguments, or those of a run without any. */
const wanted = (names, otherwise = names) => {
  const named = names.filter((name) => asked.includes(name));
  return named.length > 0 ? named : otherwise;
};

const unknown = asked.filter((name) => !PACKAGES.includes(name) && !(name in START));
if (unknown.length > 0) {
  console.error(`✗ neither a package nor cluster or sentinel: ${unknown.join(', ')}`);
  process.exit(1);
}

buildPackages();
const library = await import(pathToFileURL(join(root, 'tooling/redis-server/dist/index.js')).href);
const report = [];
let hasFailed = false;
for (const kind of wanted(Object.keys(START))) {
  console.log(`\n▸ start the servers: ${kind}`);
  const servers = await START[kind](library);
  try {
    const ran = runSuites(`protected-${kind}`, {
      packages: wanted(PACKAGES, READY),
      ignored: ['/test/node-redis/'],
      env: environmentOf(servers),
    });
    report.push(`${kind}`, ...ran.lines.map((line) => `  ${line}`));
    hasFailed ||= ran.hasFailed;
  } finally {
    await servers.stop();
  }
}
console.log(`\n${report.join('\n')}`);
process.exit(hasFailed ? 1 : 0);
