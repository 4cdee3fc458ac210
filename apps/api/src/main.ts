import process from 'node:process';

import { createLog } from '@mortise/app-common/log';
import { SettingsError, traceExportOf } from '@mortise/app-common/settings';
import { stopOnSignal } from '@mortise/app-common/shutdown';
import { startTracing } from '@mortise/app-common/tracing';

import type { Cluster, Redis } from 'ioredis';

import { readConfig } from './config.js';
import { REDIS } from './tokens.js';

/** How long closing may take beyond the deadline of open requests. */
const CLOSE_MS = 3_000;

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = createLog('api', config.LOG_LEVEL);
  // Of Redis that may evict keys, among others.
  process.on('warning', ({ name, message }) => name === 'MortiseWarning' && log.warn(message));
  // The settings come first: the modules of the app take a second to load.
  const [tracing, { createApp }, { shutDown }, { operationsOf }, { logGuarantees }] = await Promise.all([
    startTracing('api', traceExportOf(config), log),
    import('./app.js'),
    import('./http/shutdown.js'),
    import('./metrics/operations.js'),
    import('@mortise/app-common/doctor'),
  ]);
  const app = await createApp(config, log, tracing);
  const operations = operationsOf(app, config, log);
  await logGuarantees(app.get<Redis | Cluster>(REDIS), log);
  const stop = async (): Promise<void> => {
    await shutDown(app, config);
    operations.stop();
    await tracing?.stop();
  };
  const withinMs = config.SHUTDOWN_DELAY_MS + config.REQUEST_DEADLINE_MS + CLOSE_MS;
  stopOnSignal({ log, stop, withinMs });
  await operations.start();
  await app.listen(config.PORT, config.HOST);
  const url = await app.getUrl();
  const pages = {
    ...(config.DOCS !== 'off' && { docs: `${url}/docs`, openapi: `${url}/openapi.json` }),
    ...(config.CONSOLE !== 'off' && { console: `${url}/console/` }),
  };
  log.info({ url, ...pages }, 'listening');
}

try {
  await main();
} catch (error) {
  // Not the error itself: that of a refused command has its arguments.
  console.error(error instanceof SettingsError ? error.message : (error as Error).stack);
  process.exit(1);
}
