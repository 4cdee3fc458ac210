import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const READY_MS = 30_000;
const STOP_MS = 15_000;

/** One of the two apps as a process of its own, with its log in a file. */
export class App {
  /** Set by whoever started the app. */
  onUnexpectedExit = () => {};

  constructor(name, { root, data, environment, servers }) {
    this.name = name;
    this.logFile = join(data, 'log', `${name}.log`);
    mkdirSync(join(data, 'log'), { recursive: true });
    const log = openSync(this.logFile, 'a');
    // A process group of its own: Ctrl-C in the terminal reaches only the parent, which stops things in order.
    const program = join(root, 'apps', name, 'dist/main.js');
    this.process = spawn(process.execPath, [program], {
      cwd: root,
      env: environment,
      detached: true,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    // Killed when this process is: a terminal that is closed must not leave an API behind.
    servers.processStarted(this.process.pid, program);
    this.hasExited = false;
    this.exited = new Promise((resolve) => {
      this.process.once('exit', (code, signal) => {
        this.hasExited = true;
        servers.processExited(this.process.pid);
        resolve();
        this.onUnexpectedExit(code ?? signal);
      });
    });
  }

  /** Resolves when the address answers with 200. */
  async untilAnswers(url) {
    const endsAt = performance.now() + READY_MS;
    while (performance.now() < endsAt && !this.hasExited) {
      const status = await fetch(url).then(
        (response) => response.status,
        () => 0,
      );
      if (status === 200) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`the ${this.name} did not become ready; the end of ${this.logFile}:\n${this.logTail()}`);
  }

  logTail() {
    return readFileSync(this.logFile, 'utf8').trimEnd().split('\n').slice(-20).join('\n');
  }

  async stop() {
    if (this.hasExited) return;
    this.process.kill('SIGTERM');
    const timer = setTimeout(() => this.kill(), STOP_MS);
    await this.exited;
    clearTimeout(timer);
  }

  kill() {
    if (!this.hasExited) this.process.kill('SIGKILL');
  }
}
