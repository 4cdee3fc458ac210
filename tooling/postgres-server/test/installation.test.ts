import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { run } from '@mortise/server-process';

import { findPostgres, type FindOptions } from '../src/index.js';

describe('findPostgres', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'mortise-test-'));
    await chmod(directory, 0o755); // the programs run as nobody where the tests run as root
  });
  afterEach(() => rm(directory, { recursive: true }));

  const script = async (path: string, body: string): Promise<string> => {
    const file = join(directory, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `#!/bin/sh\nPATH=/usr/bin:/bin\n${body}\n`);
    await chmod(file, 0o755);
    return file;
  };
  /** A directory of programs that answer `--version`. */
  const install = async (bin: string, version: string): Promise<{ postgres: string; initdb: string }> => ({
    postgres: await script(join(bin, 'postgres'), `echo "postgres (PostgreSQL) ${version} (some system)"`),
    initdb: await script(join(bin, 'initdb'), `echo "initdb (PostgreSQL) ${version}"`),
  });
  /** Nothing of this machine is seen but `id`. */
  const search = async (options: FindOptions = {}): ReturnType<typeof findPostgres> => {
    await script('path/id', 'exec id "$@"');
    return findPostgres({
      env: { PATH: join(directory, 'path') },
      versionDirectories: [join(directory, 'versions')],
      cacheDirectory: join(directory, 'cache', 'postgres'),
      ...options,
    });
  };
  /** Programs that act like apt's, on a system whose PostgreSQL is of that version. */
  const fakeApt = async (version: string): Promise<void> => {
    const major = version.split('.')[0];
    await script('path/apt-get', 'for a; do [ "$a" = download ] && touch postgresql.deb; done; exit 0');
    await script('path/apt-cache', `echo postgresql; echo "  Depends: postgresql-${major}"`);
    await script(
      'path/dpkg-deb',
      `bin="$3/usr/lib/postgresql/${major}/bin"; mkdir -p "$bin"
       for name in postgres initdb; do
         printf '#!/bin/sh\\necho "%s (PostgreSQL) ${version}"\\n' $name > "$bin/$name"; chmod 755 "$bin/$name"
       done`,
    );
  };

  it('finds one that runs on this machine, and remembers it', async () => {
    const found = await findPostgres();

    const printed = await run(found.postgres, ['--version'], { env: { ...process.env, ...found.env } });
    expect(printed).toContain(found.version);
    expect(await findPostgres()).toBe(found);
  });

  it('runs as nobody where this process is root, and as its own user elsewhere', async () => {
    const { user } = await findPostgres();

    const isRoot = process.getuid?.() === 0;
    const nobody = Number(await run('id', ['-u', 'nobody'], { env: process.env }));
    expect(user?.uid).toBe(isRoot ? nobody : undefined);
  });

  it('takes what is on PATH before the newest version in the directories of packages', async () => {
    await install('versions/9/bin', '9.6.24');
    const newest = await install('versions/postgresql@17/bin', '17.5');
    await install('versions/16/bin', '16.9');

    expect(await search()).toMatchObject({ ...newest, version: '17.5', env: {} });
    const onPath = await install('path', '14.18');
    expect(await search()).toMatchObject({ ...onPath, version: '14.18' });
  });

  it('passes over one that is too old, says so, and says what to do when there is no other', async () => {
    await install('path', '12.22');
    const progress: string[] = [];

    const refused = search({ onProgress: (message) => progress.push(message) });

    await expect(refused).rejects.toMatchObject({
      code: 'ERR_POSTGRES_NOT_FOUND',
      message: expect.stringMatching(/apt-get install postgresql[^]*tried: .*version 12\.22, older than 13/),
    });
    expect(progress).toEqual([expect.stringContaining('version 12.22, older than 13')]);
  });

  it("unpacks the system's package once, even when two processes begin at the same time", async () => {
    await fakeApt('15.18');

    const found = await Promise.all([search(), search()]);

    expect(found.map(({ version }) => version)).toEqual(['15.18', '15.18']);
    expect(found[0].postgres).toBe(join(directory, 'cache/postgres/usr/lib/postgresql/15/bin/postgres'));
    expect(await readdir(join(directory, 'cache'))).toEqual(['postgres']);
  });

  it('replaces an unpacked one that no longer runs', async () => {
    await fakeApt('15.18');
    for (const name of ['postgres', 'initdb'])
      await script(
        `cache/postgres/usr/lib/postgresql/14/bin/${name}`,
        'echo "cannot open shared object"; exit 1',
      );

    expect(await search()).toMatchObject({ version: '15.18' });
    expect(await readdir(join(directory, 'cache'))).toEqual(['postgres']);
  });

  it("leaves nothing behind when the system's package is too old", async () => {
    await fakeApt('11.22');

    await expect(search()).rejects.toThrow('version 11.22, older than 13');
    expect(await readdir(join(directory, 'cache'))).toEqual([]);
  });
});
