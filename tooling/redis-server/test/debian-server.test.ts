import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { run } from '@mortise/server-process';

import { debianServer } from '../src/index.js';

describe('debianServer', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'mortise-test-'));
    await mkdir(join(directory, 'bin'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const script = async (name: string, body: string): Promise<void> => {
    const path = join(directory, 'bin', name);
    await writeFile(path, `#!/bin/sh\nPATH=/usr/bin:/bin\n${body}\n`);
    await chmod(path, 0o755);
  };
  const unpack = (onProgress?: (message: string) => void): Promise<string> =>
    debianServer({
      kind: 'valkey',
      suites: ['bookworm', 'bookworm-backports'],
      cacheDirectory: join(directory, 'cache', 'valkey-8.0'),
      env: { PATH: join(directory, 'bin') },
      ...(onProgress && { onProgress }),
    });

  /** Programs that act like apt's: the server comes with a loader and a directory of libraries. */
  const fakeApt = async (targets: string): Promise<void> => {
    await script(
      'apt-get',
      `for a; do
        case $a in
          indextargets) echo '${targets}'; exit 0;;
          Dir::Etc::sourcelist=*) cp "\${a#*=}" ${directory}/sources.list;;
          download) touch valkey-tools_1.deb;;
        esac
      done
      echo "$@" >> ${directory}/asked`,
    );
    await script('apt-cache', 'echo valkey-tools; echo "  Depends: libc6"; echo "  Depends: adduser"');
    await script(
      'dpkg-deb',
      `mkdir -p "$3/usr/bin" "$3/usr/lib64" "$3/usr/lib/x86_64-linux-gnu"
      printf '#!/bin/sh\\necho "Valkey server $*"\\n' > "$3/usr/bin/valkey-server"
      printf '#!/bin/sh\\necho "$1 $2"; shift 2; exec "$@"\\n' > "$3/usr/lib64/ld-linux-x86-64.so.2"
      chmod 755 "$3/usr/bin/valkey-server" "$3/usr/lib64/ld-linux-x86-64.so.2"`,
    );
  };

  it('unpacks the server of another suite with all its libraries, and starts it by their loader', async () => {
    await fakeApt('Debian main http://mirror.example/debian/');
    const messages: string[] = [];

    const path = await unpack((message) => messages.push(message));

    const cache = join(directory, 'cache', 'valkey-8.0');
    expect(await run(path, ['--port', '7'], { env: {} })).toBe(
      `--library-path ${cache}/usr/lib/x86_64-linux-gnu\nValkey server --port 7\n`,
    );
    expect(await readFile(join(directory, 'sources.list'), 'utf8')).toBe(
      'deb http://mirror.example/debian/ bookworm main\ndeb http://mirror.example/debian/ bookworm-backports main\n',
    );
    expect(await readFile(join(directory, 'asked'), 'utf8')).toMatch(
      / download valkey-server valkey-tools libc6\n/,
    );
    expect(messages).toEqual([
      'unpacking the valkey-server package of Debian bookworm-backports (no root needed)',
    ]);
    await rm(join(directory, 'bin'), { recursive: true });
    expect(await unpack()).toBe(path);
  });

  it('throws on a system that installs from no mirror of Debian, and leaves nothing', async () => {
    await fakeApt('Ubuntu main http://mirror.example/ubuntu/');
    await expect(unpack()).rejects.toThrow('no mirror of Debian');
    expect(await readdir(join(directory, 'cache'))).toEqual([]);
  });

  it('is refused on a machine without apt', async () => {
    await expect(unpack()).rejects.toMatchObject({ code: 'ERR_REDIS_NOT_FOUND' });
  });
});
