import type { RouteOptions } from 'fastify';

/** The methods of each address, which tell 405 from 404. */
export class RouteMethods {
  readonly #routes = new Map<string, { readonly pattern: RegExp; readonly methods: string[] }>();

  /** Every route, as `METHOD /path/:parameter`. */
  get all(): string[] {
    return [...this.#routes].flatMap(([url, { methods }]) => methods.map((method) => `${method} ${url}`));
  }

  /** Called by Fastify for each route. */
  add({ url, method }: Pick<RouteOptions, 'url' | 'method'>): void {
    const known = this.#routes.get(url) ?? { pattern: patternOf(url), methods: [] };
    known.methods.push(...[method].flat());
    this.#routes.set(url, known);
  }

  of(address: string): string[] {
    const [path = ''] = address.split('?', 1);
    const matching = [...this.#routes.values()].filter(({ pattern }) => pattern.test(path));
    return [...new Set(matching.flatMap(({ methods }) => methods))];
  }
}

function patternOf(url: string): RegExp {
  const text = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+');
  return new RegExp(`^${text.replaceAll('*', '.*')}$`);
}
