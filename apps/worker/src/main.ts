import 'reflect-metadata';
import { createLog, NestLog } from '@mortise/app-common/log';
import { SettingsError } from '@mortise/app-common/settings';
import { stopOnSignal } from '@mortise/app-common/shutdown';
import { startTracing } from '@mortise/app-common/tracing';
import { NestFactory } from '@nestjs/core';

import { type Config, readConfig } from './config.js';
import { WorkerModule } from './worker.module.js';

/** How long closing may take beyond the grace of active tasks; after that the leases of unfinished tasks expire. */
const CLOSE_MS = 3_000;

const config = readConfigOrExit();
const log = createLog('worker', config.logLevel);
const tracing = await startTracing('worker', config.traces, log);
const booting = NestFactory.createApplicationContext(WorkerModule.with(config, log, tracing), {
  logger: new NestLog(log),
  abortOnError: false,
});
stopOnSignal({ log, stop, withinMs: config.shutdownTimeoutMs + CLOSE_MS });
try {
  await booting;
  log.info({ mail: config.smtpUrl === undefined ? config.mailDirectory : 'smtp' }, 'worker has started');
} catch (error) {
  log.fatal({ err: error }, 'worker could not start');
  process.exit(1);
}

async function stop(): Promise<void> {
  const app = await booting;
  await app.close();
  await tracing?.stop();
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
