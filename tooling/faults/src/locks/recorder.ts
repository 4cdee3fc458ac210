import { openSync, writeSync } from 'node:fs';
import type { Operation } from '../history/operation.js';

/** Writes each record before anything else happens: what a process has written is kept when it is killed. */
export class Recorder {
  readonly #file: number;
  readonly #recordsCalls: boolean;

  constructor(path: string, recordsCalls: boolean) {
    this.#file = openSync(path, 'a');
    this.#recordsCalls = recordsCalls;
  }

  /** Before the operation. */
  called(operation: Operation): void {
    if (this.#recordsCalls) this.returned(operation);
  }

  returned(operation: Operation): void {
    writeSync(this.#file, `${JSON.stringify(operation)}\n`);
  }
}
