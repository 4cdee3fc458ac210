/** Replays a Dockerfile without docker: each stage is a folder, whose `app` is what the image has as `/app`. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { contextFiles } from './context.js';
import { lastStep, stagesOf, type Stage, type Step, variablesOf, wordsOf } from './dockerfile.js';
import { type App, root } from './repository.js';

/** The environment of this machine, such as its certificates, without the variables of the npm, pnpm and turbo that run this. */
const OUTSIDE = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(npm_|pnpm_|turbo_|node_env|node_options|init_cwd)/i.test(name),
  ),
);

/** The files and the commands of a container. */
export interface Image {
  /** The working directory. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  readonly healthcheck: readonly string[];
  /** Of the version that the image would have. */
  readonly node: string;
}

interface Built {
  readonly root: string;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Runs the steps of `deploy/docker/<app>.Dockerfile`, with folders below `directory`. Throws with the output of a failed step. */
export function buildImage(app: App, directory: string): Image {
  const stages = stagesOf(app);
  const last = stages.at(-1)!;
  const node = installNode(last.from, directory);
  const built = new Map<string, Built>();
  for (const stage of stages) {
    const target = join(directory, stage.name || 'image');
    built.set(stage.name, runStage(stage, target, built, node));
  }
  // The image has nothing of them but what it has copied.
  for (const { name } of stages) if (name !== '') rmSync(join(directory, name), { recursive: true });
  const { folder, environment } = built.get('')!;
  return {
    folder,
    environment,
    command: wordsOf(lastStep(last, 'CMD')!),
    healthcheck: wordsOf(lastStep(last, 'HEALTHCHECK')!),
    node,
  };
}

/** Node of the base image's version, from npm. */
function installNode(image: string, directory: string): string {
  const [, major] = /^node:(\d+)-/.exec(image) ?? [];
  const name = `node-${process.platform}-${process.arch}`;
  const prefix = join(directory, 'node');
  // The package of the platform has no install script. `--force`: it is for a version of Node that isn't this one.
  const args = ['install', '--prefix', prefix, '--no-audit', '--no-fund', '--prefer-offline', '--force'];
  execFileSync('npm', [...args, `${name}@${major}`], { env: OUTSIDE, stdio: 'pipe' });
  return join(prefix, 'node_modules', name, 'bin/node');
}

function runStage(
  { from, steps }: Stage,
  target: string,
  built: ReadonlyMap<string, Built>,
  node: string,
): Built {
  const base = built.get(from);
  mkdirSync(target, { recursive: true });
  if (base) copy(`${base.root}/.`, target);
  let folder = base ? join(target, base.folder.slice(base.root.length)) : target;
  const environment: Record<string, string> = { ...base?.environment };
  for (const step of steps) {
    if (step.keyword === 'WORKDIR') {
      folder = join(target, step.text);
      mkdirSync(folder, { recursive: true });
    } else if (step.keyword === 'ENV') Object.assign(environment, variablesOf(step));
    else if (step.keyword === 'COPY') runCopy(step, folder, built);
    else if (step.keyword === 'RUN') run(step.text, folder, { ...machine(target, node), ...environment });
    else if (!RECORDED.has(step.keyword)) throw new Error(`${step.keyword} cannot be replayed`);
  }
  return { root: target, folder, environment };
}

/** These change no file. */
const RECORDED = new Set(['CMD', 'EXPOSE', 'HEALTHCHECK', 'STOPSIGNAL', 'USER']);

/** The environment of a step: npm installs global packages below the root of the stage. */
function machine(target: string, node: string): NodeJS.ProcessEnv {
  const global = join(target, 'usr/local');
  return {
    ...OUTSIDE,
    PATH: [join(global, 'bin'), dirname(node), process.env['PATH']].join(':'),
    npm_config_prefix: global,
    npm_config_prefer_offline: 'true',
    pnpm_config_prefer_offline: 'true',
  };
}

function run(command: string, cwd: string, env: NodeJS.ProcessEnv): void {
  const { status, stdout, stderr } = spawnSync('sh', ['-ec', command], { cwd, env, encoding: 'utf8' });
  if (status !== 0)
    throw new Error(`RUN ${command}: exit code ${status}\n${stdout.slice(-4_000)}${stderr.slice(-4_000)}`);
}

function runCopy({ flags, text }: Step, folder: string, built: ReadonlyMap<string, Built>): void {
  const [source = '', destination = ''] = text.split(/ +/);
  if (!source.endsWith('/') && source !== '.') throw new Error(`COPY ${text}: only folders can be replayed`);
  const target = join(folder, destination);
  mkdirSync(target, { recursive: true });
  if (flags['from'] === undefined) {
    for (const file of contextFiles())
      cpSync(join(root, file), join(target, file), { preserveTimestamps: true });
    return;
  }
  const from = built.get(flags['from']);
  if (!from) throw new Error(`COPY --from=${flags['from']}: there is no such stage`);
  copy(`${join(from.root, source)}.`, target);
}

/** Keeps symbolic links and modes, as docker does. */
function copy(source: string, target: string): void {
  execFileSync('cp', ['-a', source, target]);
}
