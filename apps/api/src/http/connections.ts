/**
 * The open connections of the server. Beyond MAX_CONNECTIONS a request gets 503 and its connection ends; probes are answered all the
 * same. Far beyond, Node refuses connections without an answer, so that many clients cannot use up the file descriptors.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';

/** Connections that may be answered with 503 at the same time. */
const SPARE = 1_000;

export class Connections {
  readonly #most: number;
  #open = 0;

  constructor({ MAX_CONNECTIONS }: Config) {
    this.#most = MAX_CONNECTIONS;
  }

  get size(): number {
    return this.#open;
  }

  watch(server: Server): void {
    server.maxConnections = this.#most + SPARE;
    server.on('connection', (socket: Socket) => {
      this.#open += 1;
      socket.once('close', () => {
        this.#open -= 1;
      });
    });
  }

  /** Throws the problem `too-many-connections`. */
  requireRoom(): void {
    if (this.#open > this.#most) throw new Problem('too-many-connections', undefined, { limit: this.#most });
  }
}
