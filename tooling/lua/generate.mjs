/**
 * Writes src/scripts.gen.ts in each package that has .lua files: the text of the scripts, so that nothing is read
 * from disk at run time and bundlers see plain modules, and the names of their keys and arguments, so that calls
 * are typed. `--check` only compares, for CI.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readHeader } from './header.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const isCheck = process.argv.includes('--check');
let stale = 0;

for (const group of ['packages', 'apps', 'tooling']) {
  for (const name of readdirSync(join(root, group))) {
    const source = join(root, group, name, 'src');
    if (existsSync(source)) generate(source);
  }
}
if (stale > 0) {
  console.error('run `npm run scripts` and commit the result');
  process.exit(1);
}

function generate(source) {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.lua'))
    .toSorted();
  const target = join(source, 'scripts.gen.ts');
  const wanted = files.length > 0 ? render(source, files) : undefined;
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

function render(source, files) {
  // @mortise/redis itself has no door of its own name to come in by.
  const isBase = source.endsWith(join('packages', 'redis', 'src'));
  const parts = files.map((file) => {
    const name = basename(file, '.lua');
    const text = readFileSync(join(source, file), 'utf8');
    const { flags, keys, args, restKey, restArg } = readHeader(file, text);
    const constant = name.replace(/[.-]([a-z])/g, (_, letter) => letter.toUpperCase());
    const fields = [
      `name: ${JSON.stringify(name)}`,
      `isReadOnly: ${flags.includes('no-writes')}`,
      `keys: ${JSON.stringify(keys)}`,
      `args: ${JSON.stringify(args)}`,
      ...(restKey ? [`restKey: ${JSON.stringify(restKey)}`] : []),
      ...(restArg ? [`restArg: ${JSON.stringify(restArg)}`] : []),
      `source: ${JSON.stringify(text)
        .replaceAll('\\n', '\\n" +\n    "')
        .replace(/ \+\n {4}""$/, '')}`,
    ];
    return `export const ${constant} = new Script({\n  ${fields.join(',\n  ')},\n} as const);\n`;
  });
  const from = isBase ? './script.js' : '@mortise/redis';
  return `// Made from the .lua files of this folder by \`npm run scripts\`. Edit those.\nimport { Script } from '${from}';\n\n${parts.join('\n')}`;
}
