import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { DestinationStream } from 'pino';
import { pino } from 'pino';

import { type Config, ConfigError, readConfig } from './config.js';
import { NestLogger } from './nest-logger.js';
import { WorkerModule } from './worker.module.js';

/** What closing may take beyond the time that running tasks have; then the leases of the rest run out by themselves. */
const CLOSE_MS = 3_000;
/** What is kept of lines of the log for a reader that is slower than they come. Further ones are lost. */
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
 * Stdout, which never holds up the process. What pino does by itself is flush at the exit until that succeeds: for ever, when the reader
 * has gone (EPIPE) or doesn't read (EAGAIN). Here each line is written at once, if the pipe takes it, else with the next one.
 */
function stdout(): DestinationStream {
  const destination = pino.destination({
    // Asking for it makes the pipe one that doesn't block.
    fd: process.stdout.fd,
    sync: true,
    maxLength: MAX_KEPT_BYTES,
    retryEAGAIN: () => false,
  });
  // Nobody is left to tell it to.
  destination.on('error', () => undefined);
  // Called behind fatal lines; it would try for ever as well.
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
