/**
 * `npm start`: everything on this machine, with data that stays. Install, build, Redis with its append-only file
 * under .data/, the API, the worker, example data; then addresses. Ctrl-C stops all of it in the right order.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { App } from './app.mjs';
import { acquirePort } from './port.mjs';
import { requireNode, root, step } from './pnpm.mjs';
import { claimDataDirectory } from './data-directory.mjs';
import { seed, seedGuild } from './seed.mjs';
import { makeShop, ROW, scheduleStock, TABLE } from './shop.mjs';

const data = process.env.MORTISE_DATA ?? join(root, '.data');
/** How often the own Redis is looked at. */
const REDIS_LOOK_MS = 500;
/** Tables of the user's own database are cached instead. */
const hasOwnShop = !process.env.DATABASE_URL && !process.env.CACHE_TABLES;
const shopFile = join(data, 'shop.db');
const mailDirectory = process.env.MAIL_DIR ?? join(data, 'mail');

requireNode();
const release = claimDataDirectory(data);
step('install dependencies', ['install', '--frozen-lockfile', '--reporter=append-only']);
step('build', ['exec', 'turbo', 'run', 'build', '--filter=./apps/*', '--filter=@mortise/redis-server']);

/** What runs, in the order in which it was started; it is stopped in the opposite one. */
const running = [];
let isStopping = false;
let isRestarting = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void stop(0));

try {
  const servers = await import(pathToFileURL(join(root, 'tooling/redis-server/dist/index.js')).href);
  const redisUrl = await startRedis(servers);
  const port = await acquirePort(Number(process.env.PORT ?? 3000));
  const environment = {
    ...process.env,
    REDIS_URL: redisUrl,
    PORT: String(port),
    MAIL_DIR: mailDirectory,
    ...(hasOwnShop && { DATABASE_URL: `file:${shopFile}`, CACHE_TABLES: TABLE }),
  };
  if (hasOwnShop) makeShop(root, shopFile);
  const worker = startApp(servers, 'worker', environment);
  const api = startApp(servers, 'api', environment);
  const address = `http://127.0.0.1:${port}`;
  console.log('\n▸ start the API and the worker');
  await api.untilAnswers(`${address}/health/ready`);
  const sale = await seed(address);
  if (hasOwnShop) await scheduleStock(address);
  // Nobody waits for it.
  void seedGuild(address).catch((error) => {
    if (!isStopping) console.error(`\n✗ ${error.message}`);
  });
  console.log(`
Mortise is running.

  API           ${address}/v1
  OpenAPI page  ${address}/docs
  Redis         ${redisUrl}
  mails         ${process.env.SMTP_URL ? 'go to SMTP_URL' : mailDirectory}
  logs          ${api.logFile}
                ${worker.logFile}

Make a sale, and a mail goes to the seller:

  curl -s ${address}/v1/market/listings/${sale.listingId}/purchases \\
    -H 'content-type: application/json' -d '{"buyerId":"${sale.buyerId}","expectedPrice":${sale.price}}'

Complete a name in a guild of 10,000, in any script:

  curl -s '${address}/v1/address-books/${sale.guild}/completions?by=${sale.buyerId}&prefix=jo'
${hasOwnShop ? stockHint(address) : ''}
Ctrl-C stops everything; the data stays in ${data}.`);
} catch (error) {
  if (!isStopping) {
    console.error(`\n✗ ${error instanceof Error ? error.message : String(error)}`);
    await stop(1);
  }
}

function stockHint(address) {
  return `
Read what is left of an item; the worker loads it from a SQLite file each second (${shopFile}):

  curl -si ${address}/v1/cache/${TABLE}/rows/${ROW}
`;
}

async function startRedis({ findRedisServer, startSingle }) {
  if (process.env.REDIS_URL) return process.env.REDIS_URL;
  console.log('\n▸ start Redis');
  await findRedisServer({ onProgress: (message) => console.log(`  ${message}`) });
  const directory = join(data, 'redis');
  mkdirSync(directory, { recursive: true });
  const server = await startSingle({ directory, appendFsync: 'everysec' });
  const guard = setInterval(() => void restartIfDead(server), REDIS_LOOK_MS);
  running.push({
    stop: () => {
      clearInterval(guard);
      return server.stop();
    },
    kill: () => server.kill(),
  });
  return server.url;
}

/** The append-only file has everything, so a server that died goes on where it was. */
async function restartIfDead(server) {
  if (isStopping || isRestarting || server.isRunning) return;
  isRestarting = true;
  console.log('\n✗ Redis has ended; starting it again');
  try {
    await server.restart();
    console.log('  it runs');
  } catch (error) {
    console.error(`✗ ${error instanceof Error ? error.message : String(error)}`);
    void stop(1);
  } finally {
    isRestarting = false;
  }
}

function startApp(servers, name, environment) {
  const app = new App(name, { root, data, environment, servers });
  running.push(app);
  app.onUnexpectedExit = (code) => {
    if (isStopping) return;
    console.error(`\n✗ the ${name} ended with code ${code}; the end of ${app.logFile}:\n${app.logTail()}`);
    void stop(1);
  };
  return app;
}

async function stop(code) {
  if (isStopping) {
    console.log('\nStopping at once.');
    await Promise.allSettled(running.map((each) => each.kill()));
    process.exit(130);
  }
  isStopping = true;
  console.log('\nStopping …');
  for (const each of running.toReversed()) await each.stop();
  release();
  console.log('Stopped.');
  process.exit(code);
}
