import 'reflect-metadata';
import { createLog, NestLog } from '@mortise/app-common/log';
import { SettingsError } from '@mortise/app-common/settings';
import { startTracing } from '@mortise/app-common/tracing';
import { NestFactory } from '@nestjs/core';

import { type Config, readConfig } from './config.js';
import { WorkerModule } from './worker.module.js';

/** How long closing may take beyond the grace of active tasks; after that the leases of unfinished tasks expire. */
const CLOSE_MS = 3_000;
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

const config = readConfigOrExit();
const log = createLog('worker', config.logLevel);
const tracing = await startTracing('worker', config.traces, log);
const booting = NestFactory.createApplicationContext(WorkerModule.with(config, log, tracing), {
  logger: new NestLog(log),
  abortOnError: false,
});
for (const signal of SIGNALS) process.on(signal, onSignal);
try {
  await booting;
  log.info({ mail: config.smtpUrl === undefined ? config.mailDirectory : 'smtp' }, 'worker has started');
} catch (error) {
  log.fatal({ err: error }, 'worker could not start');
  process.exit(1);
}

/** A second signal finds no listener and ends the process at once. */
function onSignal(signal: string): void {
  for (const name of SIGNALS) process.off(name, onSignal);
  log.info({ signal }, 'worker is stopping');
  void stop();
}

async function stop(): Promise<void> {
  setTimeout(() => {
    log.error('worker did not stop in time, its tasks go back when their leases end');
    process.exit(1);
  }, config.shutdownTimeoutMs + CLOSE_MS);
  try {
    const app = await booting;
    await app.close();
    await tracing?.stop();
    log.info('worker has stopped');
    process.exit(0);
  } catch (error) {
    log.error({ err: error }, 'worker did not stop cleanly');
    process.exit(1);
  }
}

function readConfigOrExit(): Config {
  try {
    return readConfig(process.env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    console.error(error.message);
    return process.exit(1);
  }
}
