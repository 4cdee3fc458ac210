import { randomUUID } from 'node:crypto';

/** A key prefix that no other test has. */
export function freshPrefix(): string {
  return `test:${randomUUID()}`;
}
