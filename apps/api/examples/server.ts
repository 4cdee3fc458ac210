import { randomUUID } from 'node:crypto';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The API as a process of its own, which can be killed, at an address that stays. */
export class Server {
  url = '';
  #child: ChildProcess | undefined;
  readonly #env: NodeJS.ProcessEnv;

  /** Its keys have a prefix of their own in that Redis. */
  constructor(name: string, env: Record<string, string> = {}) {
    this.#env = { ...process.env, AUTH: 'off', ...env, MORTISE_PREFIX: `${name}-${randomUUID()}` };
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [fileURLToPath(new URL('../main.js', import.meta.url))], {
      env: { ...this.#env, PORT: this.url ? new URL(this.url).port : '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child = child;
    process.once('exit', () => child.kill('SIGKILL'));
    for await (const line of createInterface({ input: child.stdout })) {
      const { msg, url } = JSON.parse(line) as { msg: string; url: string };
      if (msg !== 'listening') continue;
      this.url = url;
      break;
    }
    child.stdout.resume();
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child!;
    child.kill(signal);
    await once(child, 'exit');
  }
}
