import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { App } from './app.mjs';
import { LOCK, shareLock } from './example-lock.mjs';
import { root } from './pnpm.mjs';
import { acquirePort } from './port.mjs';
import { adminKey, webhookSecret } from './secrets.mjs';
import { seed, seedConsole, seedGuild } from './seed.mjs';
import { makeShop, ROW, scheduleStock, TABLE } from './shop.mjs';

/** How often our own Redis is checked. */
const REDIS_CHECK_MS = 500;
/** Ctrl-C reaches us from the terminal, and once more from npm, which passes it on: within this time they are one. */
const SAME_SIGNAL_MS = 500;
/** Tables of the user's own database are cached instead. */
const hasOwnShop = !process.env.DATABASE_URL && !process.env.CACHE_TABLES;

/** The running processes, in the order of their start; they stop in the opposite order. */
const running = [];
let isStopping = false;
/** When a signal stopped it. */
let stoppedAt = -Infinity;
let isRestarting = false;
/** Whether all has been up once. Before that, an app that ends has wrong settings, and everything stops. */
let hasBeenUp = false;
/** Gives up the data directory. */
let giveUp = () => {};

/**
 * Runs all of it until it is stopped: Redis with its append-only file under `data`, the API, the worker, example data; then addresses.
 *
 * @param release Gives up the data directory, once everything has stopped.
 */
export async function run(data, release) {
  giveUp = release;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, onSignal);
  // A terminal that is closed takes no more text; everything still has to be stopped.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const shopFile = join(data, 'shop.db');
  const mailDirectory = process.env.MAIL_DIR ?? join(data, 'mail');
  const key = adminKey(join(data, 'admin-key'));
  const secretFile = join(data, 'webhook-secret');
  try {
    const servers = await import(pathToFileURL(join(root, 'tooling/redis-server/dist/index.js')).href);
    const redisUrl = await startRedis(servers, data);
    const port = await acquirePort(Number(process.env.PORT ?? 3000));
    const environment = {
      ...process.env,
      REDIS_URL: redisUrl,
      PORT: String(port),
      MAIL_DIR: mailDirectory,
      ADMIN_KEY: key,
      CONSOLE: process.env.CONSOLE ?? 'on',
      WEBHOOK_SECRET: webhookSecret(secretFile),
      ...(hasOwnShop && { DATABASE_URL: `file:${shopFile}`, CACHE_TABLES: TABLE }),
    };
    if (hasOwnShop) makeShop(root, shopFile);
    const worker = startApp(servers, 'worker', data, environment);
    const api = startApp(servers, 'api', data, environment);
    const address = `http://127.0.0.1:${port}`;
    console.log('\n▸ start the API and the worker');
    await api.untilAnswers(`${address}/health/ready`);
    const service = { address, key };
    const sale = await seed(service);
    await seedConsole(service);
    if (hasOwnShop) await scheduleStock(service);
    // Nothing waits for it.
    void seedGuild(service).catch((error) => {
      if (!isStopping) console.error(`\n✗ ${error.message}`);
    });
    const endSharing = shareLock(service);
    running.push({ stop: endSharing, kill: endSharing });
    hasBeenUp = true;
    const logs = [api.logFile, worker.logFile];
    console.log(welcome({ address, key, redisUrl, mailDirectory, secretFile, logs, sale, shopFile, data }));
  } catch (error) {
    if (!isStopping) {
      console.error(`\n✗ ${error instanceof Error ? error.message : String(error)}`);
      await stop(1);
    }
  }
}

function welcome({ address, key, redisUrl, mailDirectory, secretFile, logs, sale, shopFile, data }) {
  return `
Mortise is running.

  console       ${address}/console/#key=${key}
  API           ${address}/v1
  OpenAPI page  ${address}/docs
  API key       ${key}
  Redis         ${redisUrl}
  mails         ${process.env.SMTP_URL ? 'go to SMTP_URL' : mailDirectory}
  webhooks      signed with ${process.env.WEBHOOK_SECRET ? 'WEBHOOK_SECRET' : `the secret in ${secretFile}`}
  logs          ${logs.join('\n                ')}

Watch a lock change hands, in the console:

  ${address}/console/locks/${LOCK}

Make a sale, and a mail goes to the seller:

  KEY=${key}
  curl -s ${address}/v1/market/listings/${sale.listingId}/purchases \\
    -H "authorization: Bearer $KEY" -H 'content-type: application/json' -d '{"buyerId":"${sale.buyerId}","expectedPrice":${sale.price}}'

Complete a name among the 10,000 members of a guild:

  curl -s -H "authorization: Bearer $KEY" '${address}/v1/address-books/${sale.guild}/completions?by=${sale.buyerId}&prefix=jo'
${hasOwnShop ? stockHint(address, shopFile) : ''}
Ctrl-C stops everything; the data stays in ${data}.`;
}

function stockHint(address, shopFile) {
  return `
Read the stock of an item; the worker loads it from a SQLite file each second (${shopFile}):

  curl -si -H "authorization: Bearer $KEY" ${address}/v1/cache/${TABLE}/rows/${ROW}
`;
}

async function startRedis({ findRedisServer, startSingle }, data) {
  if (process.env.REDIS_URL) return process.env.REDIS_URL;
  console.log('\n▸ start Redis');
  await findRedisServer({ onProgress: (message) => console.log(`  ${message}`) });
  const directory = join(data, 'redis');
  mkdirSync(directory, { recursive: true });
  const server = await startSingle({ directory, appendFsync: 'everysec' });
  const guard = setInterval(() => void restartIfDead(server), REDIS_CHECK_MS);
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

function startApp(servers, name, data, environment) {
  const app = new App(name, { root, data, environment, servers });
  running.push(app);
  app.onUnexpectedExit = (code) => {
    if (isStopping) return;
    console.error(`\n✗ the ${name} ended with code ${code}; the end of ${app.logFile}:\n${app.logTail()}`);
    if (!hasBeenUp) void stop(1);
    else console.error(`  it starts again in ${app.restart() / 1_000} s`);
  };
  return app;
}

/** A second signal does not wait for what stops in order. */
function onSignal() {
  if (!isStopping) {
    stoppedAt = performance.now();
    void stop(0);
  } else if (performance.now() - stoppedAt > SAME_SIGNAL_MS) void stopAtOnce();
}

async function stopAtOnce() {
  console.log('\nStopping at once.');
  await Promise.allSettled(running.map((each) => each.kill()));
  process.exit(130);
}

/** Stops everything in the opposite order of its start, then ends the process. Another call changes nothing. */
export async function stop(code) {
  if (isStopping) return;
  isStopping = true;
  console.log('\nStopping …');
  for (const each of running.toReversed()) await each.stop();
  giveUp();
  console.log('Stopped.');
  process.exit(code);
}
