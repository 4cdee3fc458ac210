/** The entity tag of the settings of a queue. */
import { createHash } from 'node:crypto';

import { isMatch } from '../http/entity-tags.js';
import { Problem } from '../problems/problem.js';

const TAG_BYTES = 12;

export function tagOf(settings: object): string {
  const digest = createHash('sha256').update(JSON.stringify(settings)).digest();
  return `"${digest.toString('base64url', 0, TAG_BYTES)}"`;
}

/** Throws the problem `settings-changed` when the caller has seen other settings. */
export function requireMatch(ifMatch: readonly string[], settings: object): void {
  const tag = tagOf(settings);
  if (!isMatch(ifMatch, tag)) throw new Problem('settings-changed', undefined, { etag: tag });
}
