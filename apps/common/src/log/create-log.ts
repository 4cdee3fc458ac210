import process from 'node:process';

import type { DestinationStream, Logger } from 'pino';
import { pino } from 'pino';

import { errorFields } from './error-fields.js';
import { currentLogIds } from './log-ids.js';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** The most bytes of lines kept for a slow reader. Further lines are lost. */
const MAX_KEPT_BYTES = 1_048_576;

/**
 * JSON lines on stdout, each with the name of the app, and those of a request with its ids. Bodies, headers and addresses of mails are
 * never logged.
 */
export function createLog(app: string, level: (typeof LOG_LEVELS)[number]): Logger {
  const timestamp = pino.stdTimeFunctions.isoTime;
  const serializers = { err: errorFields };
  return pino({ level, base: { app }, timestamp, serializers, mixin: currentLogIds }, stdout());
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
