/**
 * Undoes gzip by Node's zlib, which takes any number of members and headers that are split anywhere. What it passes over in silence is
 * found here: bytes behind the last member that are no member, which is what a damaged header of a member looks like.
 */
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { FileCorruptError } from '../errors.js';

const BLOCK_BYTES = 256 * 1_024;

/** The inflated blocks. Throws ERR_FILE_CORRUPT for what is truncated or damaged; what the parts throw passes through. */
export async function* gunzip(parts: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  let bytes = 0;
  let isWhole = false;
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const part of parts) {
      bytes += part.length;
      yield part;
    }
    isWhole = true;
  }
  const inflated = createGunzip({ chunkSize: BLOCK_BYTES });
  pipeline(Readable.from(counted(), { objectMode: true, highWaterMark: 1 }), inflated, () => undefined);
  try {
    yield* inflated as AsyncIterable<Buffer>;
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (typeof code !== 'string' || !code.startsWith('Z_')) throw error;
    if (isWhole && bytes === 0) return;
    throw new FileCorruptError(name, code === 'Z_BUF_ERROR' ? 'it is truncated' : (error as Error).message);
  }
  if (!isWhole || inflated.bytesWritten !== bytes) {
    throw new FileCorruptError(name, 'it has bytes behind its last member that are no gzip');
  }
}
