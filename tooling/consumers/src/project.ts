/** An empty project of another team, with the packed packages installed: no workspace, no sources. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('..', import.meta.url));
const root = join(here, '../..');

const PACKAGES = [
  'redis',
  'locks',
  'queues',
  'messaging',
  'autocomplete',
  'cache',
  'console',
  'client',
] as const;

/** Peers and dependencies of the packages, and types. They are linked from this folder: nothing is downloaded. */
const LINKED = [
  '@nestjs/bullmq',
  '@nestjs/common',
  '@nestjs/core',
  '@opentelemetry/api',
  '@types/node',
  '@types/pg',
  'bullmq',
  'croner',
  'ioredis',
  'libsql',
  'pg',
  'react',
  'reflect-metadata',
  'rxjs',
];

interface Outcome {
  readonly code: number | null;
  /** All that the program printed, errors too. */
  readonly output: string;
}

export class Project implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), 'mortise-consumer-')));
  /** The tarballs. */
  readonly packed = join(this.path, 'packed');

  constructor() {
    const filters = PACKAGES.map((name) => `--filter=@mortise/${name}`);
    const pnpm = [join(root, 'tooling/start/pnpm.mjs'), '--recursive', ...filters];
    execFileSync(process.execPath, [...pnpm, 'pack', '--pack-destination', this.packed], { stdio: 'pipe' });
    for (const name of PACKAGES) {
      const file = readdirSync(this.packed).find((entry) => entry.startsWith(`mortise-${name}-`));
      const target = this.#directory(`node_modules/@mortise/${name}`);
      execFileSync('tar', ['-xzf', join(this.packed, file!), '-C', target, '--strip-components=1']);
    }
    for (const name of LINKED) this.link(name);
    cpSync(join(here, 'programs'), this.path, { recursive: true });
    this.write('package.json', { name: 'consumer', private: true });
  }

  /** Writes a file: text as it is, anything else as JSON. */
  write(path: string, content: unknown): void {
    this.#directory(dirname(path));
    writeFileSync(join(this.path, path), typeof content === 'string' ? content : JSON.stringify(content));
  }

  /** Installs a dependency of this folder. */
  link(name: string): void {
    const path = join(this.path, 'node_modules', name);
    mkdirSync(dirname(path), { recursive: true });
    if (!existsSync(path)) symlinkSync(realpathSync(join(here, 'node_modules', name)), path);
  }

  /** Runs Node in the project. */
  node(args: readonly string[], env: Readonly<Record<string, string>> = {}): Outcome {
    // The options of the tests' own process are not those of the other team.
    const { NODE_OPTIONS: _, JEST_WORKER_ID: __, ...inherited } = process.env;
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: this.path,
      encoding: 'utf8',
      env: { ...inherited, ...env },
    });
    return { code: status, output: stdout + stderr };
  }

  /** The names of all entries: `@mortise/queues`, `@mortise/queues/sandbox`. */
  entries(): string[] {
    return PACKAGES.flatMap((name) => {
      const file = join(this.path, 'node_modules/@mortise', name, 'package.json');
      const { exports } = JSON.parse(readFileSync(file, 'utf8')) as { readonly exports: object };
      return Object.keys(exports).flatMap((entry) =>
        entry === './package.json' ? [] : [`@mortise/${name}${entry.slice(1)}`],
      );
    });
  }

  [Symbol.dispose](): void {
    // The children of a program that was ended may still write a moment.
    rmSync(this.path, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }

  #directory(path: string): string {
    const made = join(this.path, path);
    mkdirSync(made, { recursive: true });
    return made;
  }
}

/** The path of a program of a tool that is a dependency of this folder. */
export function tool(path: string): string {
  return join(here, 'node_modules', path);
}
