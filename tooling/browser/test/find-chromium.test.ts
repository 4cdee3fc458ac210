import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { findChromium, type FindOptions } from '../src/index.js';

describe('findChromium', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'mortise-test-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const script = async (path: string, body: string): Promise<string> => {
    const file = join(directory, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `#!/bin/sh\nPATH=/usr/bin:/bin\n${body}\n`);
    await chmod(file, 0o755);
    return file;
  };
  /** Nothing of this machine is seen. */
  const search = (options: FindOptions = {}): ReturnType<typeof findChromium> =>
    findChromium({
      env: { PATH: join(directory, 'path') },
      cacheDirectory: join(directory, 'cache', 'chromium'),
      ...options,
    });

  it('takes the one on PATH', async () => {
    const executablePath = await script('path/chromium', 'echo "Chromium 150.0.7871.100 built on Debian"');
    expect(await search()).toEqual({ executablePath, env: {}, version: '150.0.7871.100' });
  });

  it('passes over one that is too old, and takes the next', async () => {
    await script('path/chromium', 'echo "Chromium 90.0.1"');
    const executablePath = await script('path/google-chrome', 'echo "Google Chrome 151.0.1"');
    const progress: string[] = [];
    const found = await search({ onProgress: (message) => progress.push(message) });
    expect(found).toMatchObject({ executablePath, version: '151.0.1' });
    expect(progress.join('\n')).toContain('older than');
  });

  it('unpacks the package of the system, once', async () => {
    await script('path/apt-get', 'for a; do [ "$a" = download ] && touch chromium.deb; done; exit 0');
    await script('path/apt-cache', 'exit 0');
    await script(
      'path/dpkg-deb',
      `bin="$3/usr/lib/chromium"; mkdir -p "$bin"; echo unpacked >> "${directory}/log"
       printf '#!/bin/sh\\necho "Chromium 150.0.1"\\n' > "$bin/chromium"; chmod 755 "$bin/chromium"`,
    );
    const found = await search();
    expect(found.executablePath).toBe(join(directory, 'cache/chromium/usr/lib/chromium/chromium'));
    expect(found.env).toHaveProperty('LD_LIBRARY_PATH');
    await rm(join(directory, 'path/apt-get'));
    expect(await search()).toEqual(found);
  });

  it('says what helps when there is none', async () => {
    await script('path/chromium', 'exit 1');
    await expect(search()).rejects.toMatchObject({
      code: 'ERR_BROWSER_NOT_FOUND',
      message: expect.stringMatching(/apt-get install chromium[^]*tried: /),
    });
  });
});
