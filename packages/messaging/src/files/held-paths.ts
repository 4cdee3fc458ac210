/**
 * Files that a path which is followed has named one after the other while the first of them was read to its end. Whoever follows the path
 * gets them in this order; they are open, so it doesn't matter what has become of their names. None is kept longer than it is followed.
 */
import type { OpenedPath } from './opened-path.js';
import type { Path } from './paths.js';
import { pathText } from './paths.js';

interface Held {
  readonly files: OpenedPath[];
  readonly follow: AbortSignal;
  readonly letGo: () => void;
}

export class HeldPaths {
  readonly #held = new Map<string, Held>();

  hold(path: Path, files: readonly OpenedPath[], follow: AbortSignal): void {
    const key = pathText(path);
    const { files: found = [] } = this.#take(key) ?? {};
    for (const file of files) {
      if (found.some(({ identity }) => identity === file.identity)) close(file);
      else found.push(file);
    }
    if (found.length === 0) return;
    const letGo = (): void => {
      this.#held.delete(key);
      found.forEach(close);
    };
    if (follow.aborted) return letGo();
    follow.addEventListener('abort', letGo, { once: true });
    this.#held.set(key, { files: found, follow, letGo });
  }

  /** The first one, which knows the others. */
  take(path: Path): OpenedPath | undefined {
    const [first, ...others] = this.#take(pathText(path))?.files ?? [];
    first?.giveNext(others);
    return first;
  }

  #take(key: string): Held | undefined {
    const held = this.#held.get(key);
    this.#held.delete(key);
    held?.follow.removeEventListener('abort', held.letGo);
    return held;
  }
}

function close(file: OpenedPath): void {
  file.close().catch(() => undefined);
}
