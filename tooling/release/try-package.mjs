/** Installs one published package into an empty project, as a user would, and runs its examples there. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { run } from './tools.mjs';

const TSCONFIG = {
  compilerOptions: {
    module: 'nodenext',
    target: 'es2023',
    strict: true,
    skipLibCheck: false,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    types: ['node'],
    outDir: 'out',
    rootDir: 'examples',
  },
  include: ['examples'],
};
const IMPORT = /(?:from|^import) '((?:@[^/']+\/)?[^/'.]+)/gm;
const OUTPUT = '// Output:\n';
const EXAMPLE_MS = 60_000;

/**
 * @param {object} item the package
 * @param {string} directory an empty one
 * @param {object} env in which npm finds the package
 * @param {object} versions of what else an example imports
 * @param {string} redisUrl
 * @returns how many examples printed what they say
 */
export function tryPackage(item, directory, env, versions, redisUrl) {
  mkdirSync(directory, { recursive: true });
  const project = { private: true, type: 'module' };
  writeFileSync(join(directory, 'package.json'), JSON.stringify(project));
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  const install = (...names) => run(['npm', ['install', ...options, ...names]], { cwd: directory, env });
  install(`${item.name}@${item.version}`, ...pick(versions, ['ioredis', 'typescript', '@types/node']));

  const examples = join(directory, 'examples');
  cpSync(join(directory, 'node_modules', item.name, 'examples'), examples, { recursive: true });
  const files = readdirSync(examples, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  const imported = new Set(
    files.flatMap((file) =>
      [...readFileSync(join(examples, file), 'utf8').matchAll(IMPORT)].map(([, name]) => name),
    ),
  );
  const others = pick(
    versions,
    [...imported]
      .filter(isOther)
      .flatMap((name) => (`@types/${name}` in versions ? [name, `@types/${name}`] : [name])),
  );
  if (others.length > 0) install(...others);
  run(['npx', ['tsc']], { cwd: directory });

  // Those in folders are parts of others.
  const shown = files.filter((file) => !file.includes(sep));
  for (const file of shown) {
    const expected = readFileSync(join(examples, file), 'utf8').split(OUTPUT)[1].trimEnd();
    const printed = run([process.execPath, [join('out', file.replace(/\.ts$/, '.js'))]], {
      cwd: directory,
      env: { ...process.env, REDIS_URL: redisUrl },
      timeout: EXAMPLE_MS,
    });
    const commented = printed
      .trimEnd()
      .split('\n')
      .map((line) => `// ${line}`.trimEnd())
      .join('\n');
    if (commented !== expected) throw new Error(`${item.name}: examples/${file} printed\n${printed}`);
  }
  return shown.length;
}

/** Packages of ours have to come with the one that is tried: it depends on them. */
const isOther = (name) => !name.startsWith('@mortise/') && !name.startsWith('node:');

/** `name@version` of each, at the versions that the repository itself uses. */
function pick(versions, names) {
  return names.map((name) => {
    const version = versions[name];
    if (version === undefined) throw new Error(`the catalog has no version of ${name}`);
    return `${name}@${version}`;
  });
}
