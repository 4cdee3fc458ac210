/** Writes a part of a file to a client, as fast as the client takes it. */
import type { ServerResponse } from 'node:http';

import type { FileSegment } from '@mortise/messaging/files';

import { formatDigest } from './content-digest.js';

export interface ContentOptions {
  /** The first byte, and the one behind the last; undefined: to the end of the file, whenever that is. */
  readonly from: number;
  readonly end: number | undefined;
  /** How long the client may take nothing, ms. */
  readonly timeoutMs: number;
  /** With automatic acks: how far they stay behind what has left the process, bytes. */
  readonly ackBehindBytes: number | undefined;
  readonly signal: AbortSignal;
}

/** The client took nothing for too long. */
export class StallError extends Error {}

/** Ends the response. Throws what the part throws, the reason of the signal, and StallError. */
export async function writeContent(
  part: FileSegment,
  blocks: AsyncIterable<Buffer>,
  response: ServerResponse,
  { from, end = Infinity, timeoutMs, ackBehindBytes, signal }: ContentOptions,
): Promise<void> {
  let offset = from;
  if (offset < end) {
    for await (const block of blocks) {
      const bytes = block.subarray(0, Math.min(block.length, end - offset));
      offset += bytes.length;
      if (!response.write(bytes)) await drained(response, timeoutMs, signal);
      const safe = offset - (ackBehindBytes ?? Infinity);
      if (safe > from && part.isAckDue(safe)) await part.ack(safe);
      if (offset >= end) break;
    }
  }
  signal.throwIfAborted();
  if (end === Infinity && part.sha256 !== undefined)
    response.addTrailers({ 'repr-digest': formatDigest(part.sha256) });
  response.end();
  if (!response.writableFinished) await drained(response, timeoutMs, signal, 'finish');
}

async function drained(
  response: ServerResponse,
  timeoutMs: number,
  signal: AbortSignal,
  event: 'drain' | 'finish' = 'drain',
): Promise<void> {
  signal.throwIfAborted();
  let settle!: () => void;
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      settle = resolve;
      timer = setTimeout(() => reject(new StallError()), timeoutMs);
      response.once(event, settle);
      signal.addEventListener('abort', settle, { once: true });
    });
  } finally {
    clearTimeout(timer);
    response.off(event, settle);
    signal.removeEventListener('abort', settle);
  }
  signal.throwIfAborted();
}
