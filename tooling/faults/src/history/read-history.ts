import { readFileSync } from 'node:fs';
import type { Operation } from './operation.js';

/** The operations in these NDJSON files. A line that its process could not finish before it was killed is left out. */
export function readOperations(files: readonly string[]): Operation[] {
  const operations = new Map<string, Operation>();
  for (const file of files) {
    const lines = readFileSync(file, 'utf8').split('\n');
    // The text after the last newline is empty, or cut off.
    lines.pop();
    for (const line of lines) {
      const operation = JSON.parse(line) as Operation;
      operations.set(operation.id, operation);
    }
  }
  return [...operations.values()];
}
