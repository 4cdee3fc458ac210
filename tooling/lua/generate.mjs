/**
 * Writes src/scripts.gen.ts in each package that has .lua files: the text of the scripts, so that nothing is read
 * from disk at run time and bundlers see plain modules, and the names of their keys and arguments, so that calls
 * are typed. Without an argument it makes those of all packages, else those of the folders that are named.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { includeParts, partsOf, piecesOf } from './include.mjs';
import { renderScripts } from './render.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Parts that the scripts of all packages may include. */
const common = fileURLToPath(new URL('.', import.meta.url));
const folders =
  process.argv.length > 2 ? process.argv.slice(2).map((folder) => resolve(folder)) : allFolders();

for (const folder of folders) {
  const source = join(folder, 'src');
  if (!existsSync(source)) continue;
  try {
    generate(source);
  } catch (error) {
    // A package with a mistake doesn't hold up the others.
    console.error(`${relative(root, source)}: ${error.message}`);
    process.exitCode = 1;
  }
}

function allFolders() {
  return ['packages', 'apps', 'tooling'].flatMap((group) =>
    readdirSync(join(root, group)).map((name) => join(root, group, name)),
  );
}

function isIncluded(file) {
  return /\.(part|section)\.lua$/.test(file);
}

function generate(source) {
  const all = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.lua'),
  );
  const parts = new Map([
    ...readdirSync(common)
      .filter(isIncluded)
      .map((file) => [file, join(common, file)]),
    ...all.filter(isIncluded).map((file) => [basename(file), join(source, file)]),
  ]);
  const files = all
    .filter((file) => !isIncluded(file))
    .toSorted((a, b) => (basename(a) < basename(b) ? -1 : 1));
  const target = join(source, 'scripts.gen.ts');
  const wanted = files.length > 0 ? render(source, files, parts) : undefined;
  const present = existsSync(target) ? readFileSync(target, 'utf8') : undefined;
  if (wanted === present) return;
  if (wanted === undefined) {
    rmSync(target);
    return;
  }
  // Another task may read it right now: it finds the old text or the new one, never half of one.
  const made = `${target}.${process.pid}.tmp`;
  writeFileSync(made, wanted);
  renameSync(made, target);
  console.log(`wrote ${relative(root, target)}: ${files.length} scripts`);
}

function render(source, files, parts) {
  // @mortise/redis itself has no door of its own name to come in by.
  const isBase = source.endsWith(join('packages', 'redis', 'src'));
  const read = (part) => {
    if (!parts.has(part)) throw new Error(`there is no ${part}`);
    return readFileSync(parts.get(part), 'utf8');
  };
  const texts = files.map((file) => readFileSync(join(source, file), 'utf8'));
  const included = texts.map((text) => [...partsOf(text, read)]);
  const isShared = (part) => included.filter((each) => each.includes(part)).length > 1;
  const scripts = files.map((file, index) => ({
    name: basename(file, '.lua'),
    text: includeParts(basename(file), texts[index], read),
    pieces: piecesOf(texts[index], read, isShared),
  }));
  const shared = new Map();
  const add = (part) => {
    if (shared.has(part)) return;
    const text = read(part).trimEnd();
    for (const other of partsOf(text, read)) if (isShared(other)) add(other);
    shared.set(part, piecesOf(text, read, isShared));
  };
  for (const part of new Set(included.flat())) if (isShared(part)) add(part);
  return renderScripts(scripts, isBase ? './script.js' : '@mortise/redis', shared);
}
