import type { LoggerService } from '@nestjs/common';
import type { Logger } from 'pino';
import { pino } from 'pino';

import type { Config } from './config.js';

/** JSON lines on stdout. Bodies, headers and addresses of mails are never logged. */
export function createLog({ LOG_LEVEL: level }: Pick<Config, 'LOG_LEVEL'>): Logger {
  return pino({ level, base: { app: 'api' }, timestamp: pino.stdTimeFunctions.isoTime });
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
