export type { CompressionOptions, EncryptionOptions } from '@mortise/redis/codecs';
export { compression, encryption } from '@mortise/redis/codecs';
