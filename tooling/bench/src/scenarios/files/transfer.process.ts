/** One process that sends files, or receives them. */
import { createHash } from 'node:crypto';
import { fileKind } from './kinds/index.js';

interface SendOptions {
  readonly url: string;
  readonly kind: string;
  readonly directory: string;
  readonly receivers: readonly string[];
}

/**
 * The work of a receiver: it counts lines one by one, searches blocks for line feeds as an aggregation of logs does, or hashes
 * blocks.
 */
export type Reading = 'lines' | 'blocks' | 'SHA-256';

interface Receiving {
  readonly url: string;
  readonly kind: string;
  readonly receiver: string;
  readonly reading: Reading;
  /** How long it stands still at its first block, in which nothing of its process runs. */
  readonly standstillMs: number;
}

export interface Received {
  /** Not when it is hashed. */
  readonly lines: number;
  /** Not of lines. */
  readonly bytes: number;
  readonly sha256: string;
}

const NEWLINE = 10;

async function send({ url, kind, directory, receivers }: SendOptions): Promise<void> {
  await fileKind(kind).send(url, directory, receivers);
}

async function receive({ url, kind, receiver, reading, standstillMs }: Receiving): Promise<Received> {
  let lines = 0;
  let bytes = 0;
  const hash = createHash('sha256');
  const reader = {
    lines: {
      line: (line: string | Buffer): void => {
        if (line.length > 0) lines += 1;
      },
    },
    blocks: {
      block: (block: Buffer): void => {
        bytes += block.length;
        for (let at = block.indexOf(NEWLINE); at >= 0; at = block.indexOf(NEWLINE, at + 1)) lines += 1;
      },
    },
    'SHA-256': {
      block: (block: Buffer): void => {
        if (bytes === 0 && standstillMs > 0) standStill(standstillMs);
        bytes += block.length;
        hash.update(block);
      },
    },
  }[reading];
  await fileKind(kind).receive(url, receiver, reader);
  return { lines, bytes, sha256: hash.digest('hex') };
}

function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const actions = { send, receive };

export type TransferActions = typeof actions;
export default actions;
