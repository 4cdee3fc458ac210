import type { LoggerService } from '@nestjs/common';
import type { Logger } from 'pino';

/** Writes the messages of Nest to our log. The last parameter is the name of the logging part; details of its start are at level debug. */
export class NestLog implements LoggerService {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.#log.debug({ context: rest.at(-1) }, String(message));
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.log(message, ...rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.log(message, ...rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.#log.warn({ context: rest.at(-1) }, String(message));
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.#log.error({ context: rest.at(-1), ...withError(message) }, String(message));
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.#log.fatal({ context: rest.at(-1), ...withError(message) }, String(message));
  }
}

function withError(message: unknown): { err?: Error } {
  return message instanceof Error ? { err: message } : {};
}
