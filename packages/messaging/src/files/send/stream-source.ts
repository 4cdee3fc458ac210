/** Sources other than paths: streams, iterables and bytes. */
import { ArgumentTypeError } from '@mortise/redis';
import type { Readable } from 'node:stream';
import { SourceChangedError } from '../errors.js';
import { pieceOf } from './chunk-filler.js';

export type StreamSource = Readable | AsyncIterable<Uint8Array | string> | Uint8Array;

/** Throws TypeError for a source that has no bytes to read. */
export function requireSource(source: StreamSource): StreamSource {
  if (source instanceof Uint8Array) return source;
  if (typeof (source as Partial<Readable> | undefined | null)?.[Symbol.asyncIterator] === 'function') {
    return source;
  }
  throw new ArgumentTypeError('source must be a path, a stream, an async iterable or bytes');
}

/** Calls `onError` when a stream fails, even before it is read: an `error` event without a listener would end the process. */
export function onFailure(source: StreamSource, onError: (error: unknown) => void): void {
  if (!('on' in source) || typeof source.on !== 'function') return;
  source.on('error', onError);
  if (source.errored) onError(source.errored);
}

/** The pieces of a source. Throws ERR_SOURCE_CHANGED if their total differs from a given `sizeBytes`. */
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
  throw new SourceChangedError(name, `it has ${found} bytes, where ${sizeBytes} were expected`);
}
