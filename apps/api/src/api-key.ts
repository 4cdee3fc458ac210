/** The form of API keys: `mk_<id>_<secret>`. Only the SHA-256 of a secret is stored: it is random, so it needs no slow hash. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** 256 bits. */
const SECRET_BYTES = 32;
const HASH_BYTES = 32;

const KEY = /^mk_([A-Za-z0-9-]{1,32})_([A-Za-z0-9_-]{22,128})$/;

export const KEY_ID = /^[A-Za-z0-9-]{1,32}$/;

export interface ParsedKey {
  readonly id: string;
  readonly hash: Buffer;
}

/** Undefined for a text of another form, such as a secret of less than 22 characters (132 bits). */
export function parseApiKey(text: string): ParsedKey | undefined {
  const [, id, secret] = KEY.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, hash: hashOf(secret) };
}

/** A new secret for the key of this id. */
export function makeApiKey(id: string): { readonly key: string; readonly hash: Buffer } {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return { key: `mk_${id}_${secret}`, hash: hashOf(secret) };
}

/** Compares with each of the hashes, also after a match, and with one that no secret has if there is none. */
export function matchesAny(hash: Buffer, stored: readonly Buffer[]): boolean {
  let isMatch = false;
  for (const each of stored.length > 0 ? stored : [NO_HASH])
    if (each.length === HASH_BYTES && timingSafeEqual(each, hash)) isMatch = true;
  return isMatch;
}

const NO_HASH = randomBytes(HASH_BYTES);

function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
