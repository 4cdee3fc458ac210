import { findOnPath, run, type Environment } from '@mortise/server-process';

/** brew installs for the user; dnf and apk write to the system, so they are used by root alone and never through sudo. */
const PACKAGERS = [
  { name: 'brew', args: ['install', 'redis'], needsRoot: false },
  { name: 'dnf', args: ['install', '--assumeyes', 'redis'], needsRoot: true },
  { name: 'apk', args: ['add', 'redis'], needsRoot: true },
];

/** Installs Redis with the first packager of this machine; returns the path of the server, `undefined` when there is none. */
export async function installWithPackager(options: {
  env: Environment;
  onProgress: (message: string) => void;
}): Promise<string | undefined> {
  const { env, onProgress } = options;
  const isRoot = process.getuid?.() === 0;
  for (const { name, args, needsRoot } of PACKAGERS) {
    const path = await findOnPath(name, env);
    if (path === undefined || (needsRoot && !isRoot)) continue;
    onProgress(`${name} ${args.join(' ')}`);
    await run(path, args, { env });
    return (await findOnPath('redis-server', env)) ?? (await findOnPath('valkey-server', env));
  }
  return undefined;
}
