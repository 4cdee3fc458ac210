import type { BodyConfig } from '../http/body-config.js';

/** A message of 65,536 bytes as JSON, and the overhead of its request, escapes included. */
export const LARGE_MESSAGE: BodyConfig = { maxBodyBytes: 131_072 };
