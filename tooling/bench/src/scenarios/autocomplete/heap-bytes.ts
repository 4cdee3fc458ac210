import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The used heap of this process after a garbage collection. */
export function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
