import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const SECRET_BYTES = 32;

/** The API key of this machine: `ADMIN_KEY`, or one that is made at the first start and kept in `file`, for its user only. */
export function adminKey(file) {
  if (process.env.ADMIN_KEY) return process.env.ADMIN_KEY;
  mkdirSync(dirname(file), { recursive: true });
  try {
    writeFileSync(file, `mk_local_${randomBytes(SECRET_BYTES).toString('base64url')}`, {
      mode: 0o600,
      flag: 'wx',
    });
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  return readFileSync(file, 'utf8').trim();
}
