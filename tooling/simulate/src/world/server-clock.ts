/** The clock of a real server, in a file that the server has mapped. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('../../src/world/server-clock.c', import.meta.url));
const BYTES = 8;

export class ServerClock {
  /** Holds the clock, and the socket of the server. */
  readonly directory: string;
  /** For the process of the server. */
  readonly env: Readonly<Record<string, string>>;
  readonly #file: number;
  readonly #bytes = Buffer.alloc(BYTES);

  /** Needs a C compiler, named `cc`. */
  constructor() {
    this.directory = mkdtempSync(join(tmpdir(), 'mortise-clock-'));
    const [library, path] = ['server-clock.so', 'now'].map((name) => join(this.directory, name)) as [
      string,
      string,
    ];
    try {
      execFileSync('cc', ['-O2', '-shared', '-fPIC', '-o', library, SOURCE, '-ldl']);
    } catch (cause) {
      throw new Error(
        "--engine redis needs Linux and a C compiler named cc, such as that of Debian's package gcc",
        {
          cause,
        },
      );
    }
    writeFileSync(path, this.#bytes);
    this.#file = openSync(path, 'r+');
    this.env = { LD_PRELOAD: library, MORTISE_SERVER_CLOCK: path };
  }

  /** @param us µs since the epoch. */
  set(us: number): void {
    this.#bytes.writeBigInt64LE(BigInt(us));
    writeSync(this.#file, this.#bytes, 0, BYTES, 0);
  }

  close(): void {
    closeSync(this.#file);
    rmSync(this.directory, { recursive: true });
  }
}
