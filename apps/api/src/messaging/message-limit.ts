import type { BodyConfig } from '../http/fastify.js';

/** A message of 65,536 bytes as JSON, and what its request adds to it: other spellings of its characters included. */
export const LARGE_MESSAGE: BodyConfig = { maxBodyBytes: 131_072 };
