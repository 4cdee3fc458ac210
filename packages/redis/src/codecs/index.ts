/** Ready codecs of payloads: an entry of its own, since it loads `node:crypto` and `node:zlib`. */
export type { EncryptionOptions } from './encryption.js';
export { encryption } from './encryption.js';
export type { CompressionOptions } from './compression.js';
export { compression } from './compression.js';
