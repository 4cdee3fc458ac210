/**
 * Encryption by AES-256-GCM with a nonce that is made from the plain bytes, as in SIV modes (RFC 5297, RFC 8452). The same bytes
 * under the same key are always encrypted the same: a repeated `enqueue` with one id is recognized. So an observer of Redis sees
 * which values are equal, and nothing else but their lengths.
 *
 *   u8 version · u8 length · id of the key | 12 bytes of nonce | 16 bytes of tag | encrypted bytes
 *
 * The nonce is HMAC-SHA-256 of the plain bytes, cut to 96 bits. Two different values share one after about 2^48 values of a key.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import { ArgumentRangeError, ArgumentTypeError } from '../argument-error.js';
import { requireObject, requireOptions } from '../require.js';
import type { PayloadCodec } from '../payload-codecs.js';

export interface EncryptionOptions {
  /**
   * Keys of 32 random bytes by id (1 to 32 letters, digits or `_.-`). Each value is stored with the id of its key. Keep old
   * keys as long as stored values need them.
   */
  readonly keys: Readonly<Record<string, Uint8Array>>;
  /** The id of the key that encrypts. All keys decrypt. */
  readonly current: string;
}

const OPTIONS = new Set(['keys', 'current']);
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const VERSION = 1;
const HEAD_BYTES = 2;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID = /^[\w.-]{1,32}$/;

interface Keys {
  readonly cipher: Buffer;
  readonly nonce: Buffer;
}

/**
 * Makes a codec that encrypts and authenticates. To rotate a key, first give the new key to all programs, then make it
 * `current`. If a task is then enqueued again with its id, ERR_TASK_CONFLICT is thrown although its payload is the same.
 */
export function encryption(options: EncryptionOptions): PayloadCodec {
  const { keys, current } = requireOptions('encryption', options, OPTIONS);
  const byId = new Map(
    Object.entries(requireObject('keys', keys)).map(([id, key]) => [id, derived(id, key)]),
  );
  const used = byId.get(current);
  if (!used) throw new ArgumentTypeError('current must be the id of one of the keys');
  const head = Buffer.concat([Buffer.from([VERSION, current.length]), Buffer.from(current)]);
  return {
    name: 'aes',
    encode(bytes) {
      const nonce = createHmac('sha256', used.nonce).update(bytes).digest().subarray(0, NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, used.cipher, nonce, { authTagLength: TAG_BYTES }).setAAD(head);
      const encrypted = [cipher.update(bytes), cipher.final()];
      return Buffer.concat([head, nonce, cipher.getAuthTag(), ...encrypted]);
    },
    decode(bytes) {
      const idEnd = HEAD_BYTES + (bytes[1] ?? 0);
      const textAt = idEnd + NONCE_BYTES + TAG_BYTES;
      if (bytes[0] !== VERSION || bytes.length < textAt) throw new RangeError('it has another format');
      const id = bytes.toString('latin1', HEAD_BYTES, idEnd);
      const found = byId.get(id);
      if (!found) throw new RangeError(`there is no key ${JSON.stringify(id)}`);
      const nonce = bytes.subarray(idEnd, idEnd + NONCE_BYTES);
      const decipher = createDecipheriv(CIPHER, found.cipher, nonce, { authTagLength: TAG_BYTES })
        .setAAD(bytes.subarray(0, idEnd))
        .setAuthTag(bytes.subarray(idEnd + NONCE_BYTES, textAt));
      return Buffer.concat([decipher.update(bytes.subarray(textAt)), decipher.final()]);
    },
  };
}

/** One key for each use. */
function derived(id: string, key: unknown): Keys {
  if (!KEY_ID.test(id))
    throw new ArgumentRangeError('the id of a key must be 1 to 32 letters, digits or _.-');
  // The message never shows the key.
  if (!(key instanceof Uint8Array) || key.length !== KEY_BYTES) {
    throw new ArgumentTypeError(`key ${JSON.stringify(id)} must be ${KEY_BYTES} bytes`);
  }
  const derive = (use: string): Buffer => Buffer.from(hkdfSync('sha256', key, '', use, KEY_BYTES));
  return { cipher: derive('mortise payload'), nonce: derive('mortise payload nonce') };
}
