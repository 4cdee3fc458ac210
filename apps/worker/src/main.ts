import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { DestinationStream } from 'pino';
import { pino } from 'pino';

import { type Config, ConfigError, readConfig } from './config.js';
import { NestLogger } from './nest-logger.js';
import { WorkerModule } from './worker.module.js';

/** How long closing may take beyond the grace of active tasks; after that the leases of unfinished tasks expire. */
const CLOSE_MS = 3_000;
/** The most bytes of log lines kept for a slow reader. Further lines are lost. */
const MAX_KEPT_BYTES = 1_048_576;
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

const config = readConfigOrExit();
const log = pino({ level: config.logLevel, base: { app: 'worker' } }, stdout());
const booting = NestFactory.createApplicationContext(WorkerModule.with(config, log), {
  logger: new NestLogger(log),
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
    log.info('worker has stopped');
    process.exit(0);
  } catch (error) {
    log.error({ err: error }, 'worker did not stop cleanly');
    process.exit(1);
  }
}

/**
 * Stdout that never blocks the process. Pino's own destination flushes at the exit until that succeeds: forever, when the
 * reader has gone (EPIPE) or doesn't read (EAGAIN). This one writes each line at once, or with the next one if the pipe is
 * full.
 */
function stdout(): DestinationStream {
  const destination = pino.destination({
    // Accessing it makes the pipe non-blocking.
    fd: process.stdout.fd,
    sync: true,
    maxLength: MAX_KEPT_BYTES,
    retryEAGAIN: () => false,
  });
  // The reader has gone.
  destination.on('error', () => undefined);
  // Called after fatal lines; it would also try forever.
  destination.flushSync = () => undefined;
  return destination;
}

function readConfigOrExit(): Config {
  try {
    return readConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(error.message);
    return process.exit(1);
  }
}
