import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What this process has in use, after garbage is gone. */
export function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
