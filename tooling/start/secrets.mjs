/** The secrets of this machine: given in the environment, or made at the first start and kept in a file, for its user only. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const SECRET_BYTES = 32;

/** The API key. */
export function adminKey(file) {
  return process.env.ADMIN_KEY || kept(file, `mk_local_${randomBytes(SECRET_BYTES).toString('base64url')}`);
}

/** The secret that signs webhooks. */
export function webhookSecret(file) {
  return process.env.WEBHOOK_SECRET || kept(file, `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`);
}

/** The content of the file, which is this secret if there was no file. */
function kept(file, secret) {
  mkdirSync(dirname(file), { recursive: true });
  try {
    writeFileSync(file, secret, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  return readFileSync(file, 'utf8').trim();
}
