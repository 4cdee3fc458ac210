/** The imports of BullMQ's tests from `src/utils`. */
export { randomUUID } from 'node:crypto';

export function delay(ms) {
  return new Promise((resolve) => {
    globalThis.setTimeout(resolve, ms);
  });
}

export const isRedisVersionLowerThan = () => false;
