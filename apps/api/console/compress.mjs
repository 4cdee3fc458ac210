/** Writes a `.gz` beside each text of dist/: the server sends it to browsers that take it. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const DIST = fileURLToPath(new URL('dist', import.meta.url));
const TEXT = /\.(?:html|js|css|svg)$/;

for (const name of readdirSync(DIST, { recursive: true, encoding: 'utf8' })) {
  if (!TEXT.test(name)) continue;
  const path = join(DIST, name);
  writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
}
