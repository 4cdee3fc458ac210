/**
 * Writes src/scripts.gen.ts in each package that has .lua files: the text of the scripts, so that nothing is read
 * from disk at run time and bundlers see plain modules, and the names of their keys and arguments, so that calls
 * are typed. `--check` only compares, for CI.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { includeParts } from './include.mjs';
import { renderScripts } from './render.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const isCheck = process.argv.includes('--check');
let stale = 0;
let refused = 0;

for (const group of ['packages', 'apps', 'tooling']) {
  for (const name of readdirSync(join(root, group))) {
    const source = join(root, group, name, 'src');
    if (!existsSync(source)) continue;
    try {
      generate(source);
    } catch (error) {
      // One package that is being worked on doesn't hold up the others.
      console.error(`${relative(root, source)}: ${error.message}`);
      refused += 1;
    }
  }
}
if (stale > 0) console.error('run `npm run scripts` and commit the result');
if (stale + refused > 0) process.exitCode = 1;

function generate(source) {
  const all = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.lua'),
  );
  const parts = new Map(
    all.filter((file) => file.endsWith('.part.lua')).map((file) => [basename(file), file]),
  );
  const files = all
    .filter((file) => !file.endsWith('.part.lua'))
    .toSorted((a, b) => (basename(a) < basename(b) ? -1 : 1));
  const target = join(source, 'scripts.gen.ts');
  const wanted = files.length > 0 ? render(source, files, parts) : undefined;
  const present = existsSync(target) ? readFileSync(target, 'utf8') : undefined;
  if (wanted === present) return;
  if (isCheck) {
    console.error(`${relative(root, target)} is not what its .lua files give`);
    stale += 1;
  } else if (wanted === undefined) {
    rmSync(target);
  } else {
    writeFileSync(target, wanted);
    console.log(`wrote ${relative(root, target)}: ${files.length} scripts`);
  }
}

function render(source, files, parts) {
  // @mortise/redis itself has no door of its own name to come in by.
  const isBase = source.endsWith(join('packages', 'redis', 'src'));
  const scripts = files.map((file) => ({
    name: basename(file, '.lua'),
    text: includeParts(basename(file), readFileSync(join(source, file), 'utf8'), (part) => {
      if (!parts.has(part)) throw new Error(`${basename(file)}: there is no ${part}`);
      return readFileSync(join(source, parts.get(part)), 'utf8');
    }),
  }));
  return renderScripts(scripts, isBase ? './script.js' : '@mortise/redis');
}
