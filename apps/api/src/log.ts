import process from 'node:process';

import type { LoggerService } from '@nestjs/common';
import type { DestinationStream, Logger } from 'pino';
import { pino } from 'pino';

import type { Config } from './config.js';

/** The most bytes of lines kept for a slow reader. Further lines are lost. */
const MAX_KEPT_BYTES = 1_048_576;

/** JSON lines on stdout. Bodies, headers and addresses of mails are never logged. */
export function createLog({ LOG_LEVEL: level }: Pick<Config, 'LOG_LEVEL'>): Logger {
  return pino({ level, base: { app: 'api' }, timestamp: pino.stdTimeFunctions.isoTime }, stdout());
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

/** The logger of Nest: details of its start only at level debug. */
export class NestLog implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown): void {
    this.logger.debug({ nest: message });
  }

  warn(message: unknown): void {
    this.logger.warn({ nest: message });
  }

  error(message: unknown, ...rest: unknown[]): void {
    const err = message instanceof Error ? message : undefined;
    this.logger.error({ err, nest: err ? undefined : message, rest });
  }

  fatal(message: unknown): void {
    this.logger.fatal({ nest: message });
  }
}
