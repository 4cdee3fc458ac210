import process from 'node:process';

import type { Logger } from 'pino';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

interface StopOptions {
  readonly log: Pick<Logger, 'info' | 'error'>;
  /** Ends all that runs. Called once. */
  readonly stop: () => Promise<void>;
  /** How long `stop` may take. */
  readonly withinMs: number;
}

/**
 * Ends the process at SIGTERM or SIGINT: with exit code 0 after `stop`, with 1 if that fails or takes too long. A second signal
 * finds no listener, so it ends the process at once.
 */
export function stopOnSignal({ log, stop, withinMs }: StopOptions): void {
  const onSignal = (signal: NodeJS.Signals): void => {
    for (const name of SIGNALS) process.off(name, onSignal);
    log.info({ signal }, 'stopping');
    const fail = (fields: object, message: string): never => {
      log.error(fields, message);
      process.exit(1);
    };
    setTimeout(() => fail({ withinMs }, 'did not stop in time'), withinMs);
    stop().then(
      () => {
        log.info('stopped');
        process.exit(0);
      },
      (err: unknown) => fail({ err }, 'did not stop cleanly'),
    );
  };
  for (const name of SIGNALS) process.on(name, onSignal);
}
