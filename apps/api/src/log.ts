import process from 'node:process';

import type { LoggerService } from '@nestjs/common';
import type { DestinationStream, Logger } from 'pino';
import { pino } from 'pino';

import type { Config } from './config.js';

/** What is kept of lines for a reader that is slower than they come. Further ones are lost. */
const MAX_KEPT_BYTES = 1_048_576;

/** JSON lines on stdout. Bodies, headers and addresses of mails are never logged. */
export function createLog({ LOG_LEVEL: level }: Pick<Config, 'LOG_LEVEL'>): Logger {
  return pino({ level, base: { app: 'api' }, timestamp: pino.stdTimeFunctions.isoTime }, stdout());
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

/** What Nest itself logs: its start-up in detail only at level debug. */
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
