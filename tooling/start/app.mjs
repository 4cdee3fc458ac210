import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The service starts in 2 s; a busy machine takes its time, and an app that ends is noticed at once. */
const READY_MS = 180_000;
const STOP_MS = 15_000;

const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
/** After this time an end has other reasons than the start. */
const SOUND_MS = 60_000;

/** One of the two apps as a process of its own, with its log in a file. */
export class App {
  /** Called with the code or signal when the process has ended without `stop`. Set by whoever made the app. */
  onUnexpectedExit = () => {};
  #isStopping = false;
  #failures = 0;
  #startedAt = 0;
  #pause;

  constructor(name, { root, data, environment, servers }) {
    this.name = name;
    this.logFile = join(data, 'log', `${name}.log`);
    mkdirSync(join(data, 'log'), { recursive: true });
    this.program = join(root, 'apps', name, 'dist/main.js');
    this.options = { root, environment, servers };
    this.#start();
  }

  #start() {
    const { root, environment, servers } = this.options;
    const log = openSync(this.logFile, 'a');
    // A process group of its own: Ctrl-C in the terminal reaches only the parent, which stops things in order.
    const child = spawn(process.execPath, [this.program], {
      cwd: root,
      env: environment,
      detached: true,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.process = child;
    this.#startedAt = performance.now();
    // Killed when this process is: a terminal that is closed must not leave an API behind.
    servers.processStarted(child.pid, this.program);
    this.hasExited = false;
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.hasExited = true;
        servers.processExited(child.pid);
        resolve();
        if (!this.#isStopping) this.onUnexpectedExit(code ?? signal);
      });
    });
  }

  /** Starts the process again after a pause, which doubles while it ends soon after its start. Returns the pause in ms. */
  restart() {
    this.#failures = performance.now() - this.#startedAt >= SOUND_MS ? 0 : this.#failures + 1;
    const pauseMs = Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** Math.max(0, this.#failures - 1));
    this.#pause = setTimeout(() => this.#start(), pauseMs);
    return pauseMs;
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
    this.#isStopping = true;
    clearTimeout(this.#pause);
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
