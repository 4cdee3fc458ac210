import { createHmac } from 'node:crypto';

const PREFIX = 'whsec_';
const MIN_BYTES = 24;
const MAX_BYTES = 64;

/** The bytes of a secret `whsec_` and base64, 24 to 64 of them. Throws a RangeError that doesn't repeat the secret. */
export function secretBytes(secret: string): Buffer {
  const bytes = Buffer.from(secret.slice(PREFIX.length), 'base64');
  const isCanonical =
    bytes.toString('base64').replace(/=+$/, '') === secret.slice(PREFIX.length).replace(/=+$/, '');
  if (!secret.startsWith(PREFIX) || !isCanonical || bytes.length < MIN_BYTES || bytes.length > MAX_BYTES) {
    throw new RangeError(`must be ${PREFIX} and the base64 of ${MIN_BYTES} to ${MAX_BYTES} random bytes`);
  }
  return bytes;
}

/** The headers of a delivery, by the specification Standard Webhooks 1.0: any of its libraries verifies them. */
export function signedHeaders(
  id: string,
  nowMs: number,
  body: string,
  secret: Buffer,
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}
