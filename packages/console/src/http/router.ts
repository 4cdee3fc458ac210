/** Finds the route of a request by its method and the parts of its path. */
import type { ConsoleRight } from './http-call.js';
import { Problem } from './problem.js';

export interface Call {
  /** The parts of the path that the route names, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Undefined without one. */
  readonly body: unknown;
  /** Of the sender. */
  readonly right: ConsoleRight;
}

export interface Answer {
  readonly status: number;
  /** Sent as JSON. */
  readonly body?: unknown;
}

type Handle = (call: Call) => Promise<Answer>;

/** By method and path: `GET queues/:queue`. */
export type Routes = Readonly<Record<string, Handle>>;

interface Found {
  readonly handle: Handle;
  readonly params: Readonly<Record<string, string>>;
}

interface Row {
  readonly method: string;
  readonly parts: readonly string[];
  readonly handle: Handle;
}

export class Router {
  readonly #rows: readonly Row[];

  constructor(routes: Routes) {
    this.#rows = Object.entries(routes).map(([route, handle]) => {
      const [method = '', path = ''] = route.split(' ');
      return { method, parts: path.split('/'), handle };
    });
  }

  /** Throws the problems `malformed-url`, `unknown-route` and `method-not-allowed`. */
  find(method: string, path: string): Found {
    const parts = path.split('/').map(decoded);
    const rows = this.#rows.filter((row) => isMatch(row.parts, parts));
    if (rows.length === 0) throw new Problem('unknown-route');
    const row = rows.find((each) => each.method === method);
    if (!row)
      throw new Problem('method-not-allowed', `it takes ${rows.map((each) => each.method).join(', ')}`);
    const named = row.parts.flatMap((part, index) =>
      part.startsWith(':') ? [[part.slice(1), parts[index]!]] : [],
    );
    return { handle: row.handle, params: Object.fromEntries(named) as Record<string, string> };
  }
}

function isMatch(pattern: readonly string[], parts: readonly string[]): boolean {
  return (
    pattern.length === parts.length &&
    pattern.every((part, index) => (part.startsWith(':') ? parts[index] !== '' : part === parts[index]))
  );
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Problem('malformed-url');
  }
}

export const done = (body: unknown): Answer => ({ status: 200, body });
export const DONE: Answer = { status: 204 };
