/** Sources that are no paths: streams, iterables and bytes. */
import type { Readable } from 'node:stream';
import { SourceChangedError } from '../errors.js';
import { pieceOf } from './chunk-filler.js';

export type StreamSource = Readable | AsyncIterable<Uint8Array | string> | Uint8Array;

/**
 * Calls `tell` when a stream fails, from now on and until it is gone: also before it is read, when nobody else listens, and an error that nobody hears
 * ends the process.
 */
export function hearFailure(source: StreamSource, tell: (error: unknown) => void): void {
  if (!('on' in source) || typeof source.on !== 'function') return;
  source.on('error', tell);
  if (source.errored) tell(source.errored);
}

/** The pieces of a source, of which it is known how many bytes they have together, or undefined. Throws ERR_SOURCE_CHANGED when they have not. */
export async function* piecesOf(
  source: StreamSource,
  sizeBytes: number | undefined,
  name: string,
): AsyncGenerator<Uint8Array | string> {
  if (source instanceof Uint8Array) {
    yield source;
    return;
  }
  let bytes = 0;
  for await (const value of source as AsyncIterable<Uint8Array | string>) {
    const piece = pieceOf(value);
    bytes += piece.length;
    if (bytes > (sizeBytes ?? Infinity)) break;
    yield piece;
  }
  if (sizeBytes === undefined || bytes === sizeBytes) return;
  const found = bytes > sizeBytes ? 'more' : `${bytes}`;
  throw new SourceChangedError(name, `it has ${found} bytes, where ${sizeBytes} were told`);
}
