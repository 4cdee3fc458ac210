import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { requireInteger, requireOptions } from '../require.js';
import type { PayloadCodec } from '../payload-codecs.js';

export interface CompressionOptions {
  /** JSON of fewer bytes stays as it is. 0 to 67,108,864. Default 1,024. */
  readonly aboveBytes?: number | undefined;
  /** The quality of Brotli: from 0 (fast) to 11 (small). Default 4. */
  readonly quality?: number | undefined;
}

const OPTIONS = new Set(['aboveBytes', 'quality']);
const DEFAULT_ABOVE_BYTES = 1_024;
const DEFAULT_QUALITY = 4;
const MAX_QUALITY = 11;
/** The highest `maxPayloadBytes`. No small value may fill the memory of its reader. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Makes a codec that compresses by Brotli where that saves at least a tenth, base64 included. It is synchronous: 1 MB takes
 * about 10 ms at the default quality.
 */
export function compression(options: CompressionOptions = {}): PayloadCodec {
  requireOptions('compression', options, OPTIONS);
  const { aboveBytes = DEFAULT_ABOVE_BYTES, quality = DEFAULT_QUALITY } = options;
  requireInteger('aboveBytes', aboveBytes, { min: 0, max: MAX_BYTES });
  requireInteger('quality', quality, { min: 0, max: MAX_QUALITY });
  return {
    name: 'br',
    encode(bytes) {
      if (bytes.length < aboveBytes) return undefined;
      const params = {
        [constants.BROTLI_PARAM_QUALITY]: quality,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      };
      const compressed = brotliCompressSync(bytes, { params });
      // Base64 needs a third more.
      return compressed.length * 1.5 < bytes.length ? compressed : undefined;
    },
    decode: (bytes) => brotliDecompressSync(bytes, { maxOutputLength: MAX_BYTES }),
  };
}
