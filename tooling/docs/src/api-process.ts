/** The API as a process of the tests: pages send their requests to it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root } from './pages.js';

export const ADMIN_KEY = `mk_admin_${'0'.repeat(64)}`;

export interface ApiProcess {
  readonly port: string;
  stop(): void;
}

export async function startApi(settings: Readonly<Record<string, string>>): Promise<ApiProcess> {
  const child: ChildProcess = spawn(process.execPath, [join(root, 'apps/api/dist/main.js')], {
    env: { PORT: '0', ADMIN_KEY, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the API ended with ${code}`)));
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const { msg, url } = JSON.parse(line) as { msg: string; url?: string };
      if (msg === 'listening') resolve(new URL(url!).port);
    });
  });
  return { port, stop: () => void child.kill('SIGKILL') };
}
