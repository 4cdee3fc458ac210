/**
 * Preloaded into each process of the hour. On SIGUSR2 the process collects its garbage, and writes its memory usage to a file. So the
 * programs need no code for it.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const { HOUR_HEAP_DIRECTORY: directory } = process.env;

if (directory !== undefined) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  process.on('SIGUSR2', () => {
    // The second collection frees the objects that the first one finalizes.
    collect();
    collect();
    const { heapUsed, external, rss } = process.memoryUsage();
    const file = join(directory, String(process.pid));
    writeFileSync(`${file}.new`, JSON.stringify({ heapBytes: heapUsed + external, rssBytes: rss }));
    renameSync(`${file}.new`, file);
  });
}
