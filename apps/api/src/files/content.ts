/** Writes a segment of a file to a client, as fast as the client takes it. */
import type { ServerResponse } from 'node:http';

import type { FileSegment } from '@mortise/messaging/files';

import { formatDigest } from './content-digest.js';

export interface ContentOptions {
  /** The first byte, and the one after the last; undefined: to the end of the file. */
  readonly from: number;
  readonly end: number | undefined;
  /** How long the client may take nothing, ms. */
  readonly timeoutMs: number;
  /** With automatic acks: how many bytes they stay behind the bytes that have left the process. */
  readonly ackBehindBytes: number | undefined;
  readonly signal: AbortSignal;
}

/** The client took nothing for too long. */
export class StallError extends Error {}

/** Ends the response. Throws the error of the segment, the reason of the signal, and StallError. */
export async function writeContent(
  segment: FileSegment,
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
      if (safe > from && segment.isAckDue(safe)) await segment.ack(safe);
      if (offset >= end) break;
    }
  }
  signal.throwIfAborted();
  if (end === Infinity && segment.sha256 !== undefined)
    response.addTrailers({ 'repr-digest': formatDigest(segment.sha256) });
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
  let done!: () => void;
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      done = resolve;
      timer = setTimeout(() => reject(new StallError()), timeoutMs);
      response.once(event, done);
      signal.addEventListener('abort', done, { once: true });
    });
  } finally {
    clearTimeout(timer);
    response.off(event, done);
    signal.removeEventListener('abort', done);
  }
  signal.throwIfAborted();
}
