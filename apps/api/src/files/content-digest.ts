/** Digests in headers (RFC 9530): a dictionary of algorithms and bytes, `sha-256=:…:`. */
import { Problem } from '../problems/problem.js';

const MEMBER = /^\s*([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]*={0,2}):\s*$/;
const SHA256_BYTES = 32;

export function formatDigest(sha256: string): string {
  return `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`;
}

/**
 * The SHA-256 of a header `Content-Digest`, in hex; undefined without the header. A digest that would not be checked is refused. Throws the problem
 * `invalid-digest`.
 */
export function parseDigest(header: string | readonly string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const members = String(header)
    .split(',')
    .map((member) => MEMBER.exec(member));
  const given = members.filter((member) => member?.[1] === 'sha-256');
  const digest = Buffer.from(given.at(-1)?.[2] ?? '', 'base64');
  if (members.includes(null) || digest.length !== SHA256_BYTES) {
    throw new Problem('invalid-digest', 'must have a sha-256 of 32 bytes in base64: sha-256=:…:');
  }
  return digest.toString('hex');
}
